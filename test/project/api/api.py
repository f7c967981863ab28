# SPDX-License-Identifier: Apache-2.0
"""
Lists the names that the headers outside detail/ offer, from what Doxygen knows of all headers: names at namespace
level, and public members, inherited ones included; of the trainer without members. In sections: what users of the core
name, what authors of an axis name, and each component.

    python3 api.py <folder of XML files> <repository>

Prints the list. Fails if users of the core have more than 93 names at namespace level, or if a name that is listed
shows a type of detail: as a parameter, a result, a data member or an alias.
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree as xml

MOST_NAMES_OF_USERS = 93
MAY_SHOW_DETAIL = {  # with reasons
    "shared_memory": "an alias that gives basic_shared_memory its doorbells; tests give it others",
    "cuda::peers": "an alias that gives a transport the driver of GPUs; tests give it a host that plays them",
    "cuda::staged_transport": "an alias that gives a transport the runtime of GPUs; tests give it a host that plays them",
    "nn::cuda::replica": "an alias that gives a replica the arithmetic of GPUs; tests give it that of a host",
}
xml_folder, repository = sys.argv[1:]


def read(path):
    with open(os.path.join(repository, path), encoding="utf-8") as file:
        return file.read()


def paths_of_components():
    """The path, a folder or a file below include/tutti, and the component."""
    text = read("cmake/components.cmake")
    paths = {}
    for component, listed in re.findall(r"set\(tutti_paths_of_(\w+) ([^)]*)\)", text):
        paths.update({path if "." in path else path + "/": component for path in listed.split()})
    for folder in os.listdir(os.path.join(repository, "include/tutti")):
        if os.path.isdir(os.path.join(repository, "include/tutti", folder, "detail")):
            paths[folder + "/"] = folder
    paths["nn/cuda/"] = "nn_cuda"
    paths["nn/images/"] = "nn_images"
    return paths


def audiences():
    """The beginning of a path, or of "path:name", and who names what is there, where topics.txt and folder differ."""
    lines = (line.split() for line in read("docs/reference/topics.txt").splitlines() if not line.startswith("#"))
    return {line[0]: line[2] for line in lines if len(line) == 3}


def longest(table, path):
    """The value of the longest beginning of the path that the table has."""
    fitting = [key for key in table if path.startswith(key)]
    return table[max(fitting, key=len)] if fitting else None


components, named_by = paths_of_components(), audiences()


def section_of(path, name):
    component = longest(components, path)
    audience = longest(named_by, path + ":" + name) or ("extend" if "extend/" in path else "use")
    return audience if component is None else component if audience == "use" else component + ", extend"


class Reader:
    def __init__(self):
        self.hidden = set()  # classes that are not public
        self.no_names = set()  # ids of deleted or defaulted members, of friend classes, and so on
        self.found = set()  # (section, path, name)
        self.shown = set()  # (path, name, detail type)
        self.definitions = {}  # definitions of members, by id
        self.roots = [xml.parse(file).getroot() for file in sorted(glob.glob(os.path.join(xml_folder, "*.xml")))]
        self.compounds = [one for root in self.roots for one in root.findall("compounddef")]

    def run(self):
        for compound in self.compounds:
            if compound.get("prot") in ("private", "protected"):
                self.hidden.add(compound.findtext("compoundname"))
            for member in compound.iter("memberdef"):
                self.definitions[member.get("id")] = member
                arguments = (member.findtext("argsstring") or "").replace(" ", "")
                is_implied = arguments.endswith("=default") and member.findtext("name").startswith(("operator", "~"))
                if is_implied or arguments.endswith("=delete") or (member.get("kind") == "friend" and not arguments):
                    self.no_names.add(member.get("id"))
                self.no_names.update(value.get("id") for value in member.findall("enumvalue"))
        for compound in self.compounds:
            kind = compound.get("kind")
            if kind in ("class", "struct", "union", "concept"):
                self.read_type(compound, kind)
            elif kind in ("namespace", "file"):
                self.read_scope(compound, kind)
        return self.found

    def offered(self, path, scoped_name):
        """The path and the name as the list has them; None if it, or what it is in, is hidden."""
        path = re.sub(r"^(include/)?tutti/", "", path)
        parts = scoped_name.split("::")
        scopes = ["::".join(parts[:i]) for i in range(1, len(parts))]
        if "/detail/" in "/" + path or "detail" in parts or "std" in parts or self.hidden.intersection(scopes):
            return None
        return path, re.sub(r"^tutti::", "", scoped_name)

    def add(self, path, scoped_name):
        if offered := self.offered(path, scoped_name):
            self.found.add((section_of(*offered), *offered))

    def check(self, path, scoped_name, member):
        """Notes the types of detail that a name shows. The types that decltype and `typename ...::type` yield are
        others."""
        offered = self.offered(path, scoped_name)
        if offered is None or offered[1] in MAY_SHOW_DETAIL or member.get("kind") == "friend":
            return
        types = [member.find("type"), *member.findall("param/type")]
        for text in ("".join(one.itertext()).strip() for one in types if one is not None):
            is_yielded = member.get("kind") == "typedef" and re.match(r"decltype\(|typename ", text)
            if re.search(r"\bdetail\b", text) and not is_yielded:
                self.shown.add((*offered, text))

    def check_members(self, compound, name, path):
        """Checks public members, inherited ones included, but not the constructors and assignments of a base."""
        for member in compound.iter("member"):
            scope, text = member.findtext("scope"), member.findtext("name")
            is_of_base = scope != name and text in (scope.rpartition("::")[2], "operator=")
            if member.get("prot") == "public" and member.get("refid") in self.definitions and not is_of_base:
                self.check(path, f"{name}::{text}", self.definitions[member.get("refid")])

    def add_enum(self, member, path, scope):
        name = scope + member.findtext("name")
        self.add(path, name)
        if not path.startswith(("tutti/nn/", "include/tutti/nn/")):
            for value in member.findall("enumvalue"):
                self.add(path, name + "::" + value.findtext("name"))

    def read_type(self, compound, kind):
        name = compound.findtext("compoundname")
        place = compound.find("location")
        if "<" in name or "@" in name or place is None or not name.startswith("tutti::") or name in self.hidden:
            return
        path = place.get("file")
        is_nested = "::" in name and any(
            one.findtext("compoundname") == name.rpartition("::")[0] and one.get("kind") in ("class", "struct")
            for one in self.compounds)
        if path.startswith(("tutti/nn/", "include/tutti/nn/")) and is_nested:
            return
        self.add(path, name)
        self.check_members(compound, name, path)
        if kind == "concept" or path.startswith(("tutti/nn/", "include/tutti/nn/")):
            return
        for member in compound.iter("member"):
            if member.get("prot") == "public" and member.get("refid") not in self.no_names:
                text = member.findtext("name")
                if "<" not in text or text.startswith("operator"):
                    self.add(path, name + "::" + text)
        for member in compound.iter("memberdef"):
            if member.get("kind") == "enum" and member.get("prot") == "public":
                self.add_enum(member, path, name + "::")

    def read_scope(self, compound, kind):
        scope = compound.findtext("compoundname") + "::"
        if kind == "namespace" and not scope.startswith("tutti::"):
            return
        for member in compound.iter("memberdef"):
            path, name = member.find("location").get("file"), member.findtext("name")
            if kind == "file":
                if member.get("kind") == "define" and name.startswith("TUTTI_"):
                    self.add(path, name)
            elif member.get("kind") == "enum":
                self.add_enum(member, path, scope)
            elif "<" not in name or name.startswith("operator"):
                self.add(path, scope + name)
                self.check(path, scope + name, member)


reader = Reader()
found = reader.run()
types = {name for _, _, name in found}
order = sorted({section for section, _, _ in found}, key=lambda s: (s != "use", s != "extend", s))
counts = {}
for section in order:
    lines = sorted({(path, name) for s, path, name in found if s == section})
    names = {name for _, name in lines if name.rpartition("::")[0] not in types and not name.startswith("TUTTI_")}
    counts[section] = len(names)
    print(f"{'' if section == order[0] else chr(10)}# {section}: {len(names)} names at namespace level")
    for path, name in lines:
        print(f"{path}: {name}")
if counts.get("use", 0) > MOST_NAMES_OF_USERS:
    sys.exit(f"Users of the core have {counts['use']} names at namespace level, and {MOST_NAMES_OF_USERS} are enough: "
             "what authors need is in extend/, or extend in docs/reference/topics.txt, and the rest in detail.")
if reader.shown:
    lines = [f"{path}: {name} shows {text}" for path, name, text in sorted(reader.shown)]
    sys.exit("\n".join(lines) + "\nA user or an author cannot name a type of detail: it becomes public beside who names "
             "it, or the member private, for detail::access; or MAY_SHOW_DETAIL of api.py gives a reason.")
