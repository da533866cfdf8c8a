# Validates a value against the part of JSON Schema that docs/schemas uses; an unknown keyword is an error.
# SPDX-License-Identifier: Apache-2.0
import re

KNOWN = {"$schema", "title", "type", "required", "properties", "patternProperties", "additionalProperties", "items",
         "prefixItems", "minItems", "enum", "const", "minimum", "maximum", "anyOf"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def is_type(value, name):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "integer":
        return number and value == int(value)
    return number if name == "number" else isinstance(value, TYPES[name])


def errors(value, schema, place="$"):
    """The list of places where value breaks the schema."""
    if schema is True or schema == {}:
        return []
    if schema is False:
        return [f"{place}: not allowed"]
    unknown = set(schema) - KNOWN
    assert not unknown, f"the validator does not know {unknown}"
    out = []
    if "type" in schema and not is_type(value, schema["type"]):
        return [f"{place}: not of type {schema['type']}"]
    if "const" in schema and (value != schema["const"] or isinstance(value, bool) != isinstance(schema["const"], bool)):
        out.append(f"{place}: not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{place}: not one of {schema['enum']}")
    if "minimum" in schema and value < schema["minimum"]:
        out.append(f"{place}: below {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        out.append(f"{place}: above {schema['maximum']}")
    if "anyOf" in schema and all(errors(value, s, place) for s in schema["anyOf"]):
        out.append(f"{place}: none of the alternatives")
    if isinstance(value, dict):
        out += [f"{place}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            matched = [s for pattern, s in schema.get("patternProperties", {}).items() if re.search(pattern, name)]
            if name in schema.get("properties", {}):
                matched.append(schema["properties"][name])
            for s in matched or [schema.get("additionalProperties", True)]:
                out += errors(item, s, f"{place}.{name}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            out.append(f"{place}: too short")
        prefix = schema.get("prefixItems", [])
        for i, item in enumerate(value):
            out += errors(item, prefix[i] if i < len(prefix) else schema.get("items", True), f"{place}[{i}]")
    return out
