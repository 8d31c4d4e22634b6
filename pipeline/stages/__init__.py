"""Entry points of the stages: `python -m pipeline.stages.NAME`.

Nothing that an import makes is garbage, so the collector rests while a stage's own imports run, and `stage_main` starts
it again without them: searching a million of their objects time and again, at the very end too, costs two seconds in
each of the pipeline's many short processes.
"""

import gc
import sys

if sys.argv[0] == "-m":  # so Python says while it looks for the module it was told to run
    gc.disable()
