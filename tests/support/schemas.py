# SPDX-License-Identifier: MIT
"""JSON Schema, as far as docs/schema uses it."""
import re


def violations(root, schema, value):
    """The part of JSON Schema that docs/schema uses; returns what is wrong, or None."""
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].lstrip("#/").split("/"):
            target = target[step]
        return violations(root, target, value)
    if "oneOf" in schema:
        found = [violations(root, part, value) for part in schema["oneOf"]]
        return None if found.count(None) == 1 else f"{found.count(None)} of oneOf fit: {found}"
    if "anyOf" in schema:
        found = [violations(root, part, value) for part in schema["anyOf"]]
        return None if None in found else f"none of anyOf fits: {found}"
    if "const" in schema and value != schema["const"]:
        return f"{value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{value!r} is not in {schema['enum']}"
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None), "boolean": bool}
    wanted = schema.get("type")
    if wanted:
        wanted = [wanted] if isinstance(wanted, str) else wanted
        # A bool of Python is an int, too.
        if not any(isinstance(value, kinds[kind]) and isinstance(value, bool) == (kind == "boolean") for kind in wanted):
            return f"{value!r} is no {wanted}"
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return f"{value!r} does not match {schema['pattern']}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            return f"{value} is out of range"
    if isinstance(value, list):
        for item in value:
            wrong = violations(root, schema.get("items", {}), item)
            if wrong:
                return wrong
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                return f"{name} is missing"
        for name, member in value.items():
            part = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            if part is False:
                return f"{name} is not allowed"
            wrong = violations(root, part, member)
            if wrong:
                return f"{name}: {wrong}"
    return None
