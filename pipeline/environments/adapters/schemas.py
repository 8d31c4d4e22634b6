"""Tool schemas that come from outside, checked before any model sees them."""

import jsonschema

from pipeline.errors import InputError
from pipeline.records import JsonObject


def tool_schema(where: str, name: str, description: str, parameters: JsonObject) -> JsonObject:
    """One tool in the OpenAI form. `where` names its origin in the InputError for parameters that are no schema."""
    try:
        jsonschema.Draft202012Validator.check_schema(parameters)
    except jsonschema.SchemaError as error:
        raise InputError(f"{where}: the parameters of tool {name!r} are no JSON schema: {error.message}") from error
    if parameters.get("type") != "object":
        raise InputError(f"{where}: the parameters of tool {name!r} are no object, but {parameters.get('type')!r}")
    plain = {key: value for key, value in parameters.items() if key not in ("title", "description")}
    plain = {"type": "object", "properties": plain.pop("properties", {}), "required": plain.pop("required", [])} | plain
    function = {"name": name, "description": description.strip(), "parameters": plain}
    return {"type": "function", "function": function}


def all_different(where: str, schemas: list[JsonObject]) -> tuple[JsonObject, ...]:
    """The schemas as they are. Raises InputError when two tools share a name."""
    names = [schema["function"]["name"] for schema in schemas]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{where}: two tools are called {twice!r}")
    return tuple(schemas)
