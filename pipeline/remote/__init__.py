"""Models that answer over HTTP, in the form of OpenAI's chat completions: judges, users and teachers."""
