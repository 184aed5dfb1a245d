# awk -v label=FILE -f convert.awk FILE.cu >FILE.cc: what CUDA adds to C++ as calls of emulate.h.
#   name<<<grid, block, shared, stream>>>(arguments)  is a call of emulate_launch()
#   __shared__ T x[N], y;                             are references that emulate_shared() gives
# Ends with 1 and FILE:LINE: at what it does not understand: rather no test than one of something else.

{ source = source $0 "\n" }

function fail(at, why,    before) {
  before = substr(source, 1, at)
  printf "%s:%d: %s\n", label, gsub(/\n/, "", before) + 1, why >"/dev/stderr"
  failed = 1
  exit 1
}

function trim(text) {
  gsub(/^[ \t\n]+|[ \t\n]+$/, "", text)
  return text
}

# The place of the bracket that closes the one at `from`.
function closing(from,    at, depth, c) {
  for (at = from; at <= length(source); at++) {
    c = substr(source, at, 1)
    if (c == "(" || c == "[" || c == "{") depth++
    if (c == ")" || c == "]" || c == "}") depth--
    if (depth == 0) return at
  }
  fail(from, "a bracket that is never closed")
}

# Splits at commas outside of brackets, also those of templates where angles is true; how many parts.
function split_commas(text, parts, angles,    i, c, depth, n) {
  n = 1
  parts[1] = ""
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    if (c ~ /[([{]/ || (angles && c == "<")) depth++
    if (c ~ /[])}]/ || (angles && c == ">")) depth--
    if (c == "," && depth == 0) parts[++n] = ""
    else parts[n] = parts[n] c
  }
  return n
}

# Takes the kernel's name, with its template arguments, off the end of what was written.
function take_name(at,    i, c, depth, name) {
  i = length(written)
  while (i > 0 && substr(written, i, 1) ~ /[ \t\n]/) i--
  gap = substr(written, i + 1)
  name = i
  if (substr(written, i, 1) == ">")
    for (; i > 0; i--) {
      c = substr(written, i, 1)
      if (c == ">") depth++
      if (c == "<" && --depth == 0) { i--; break }
    }
  while (i > 0 && substr(written, i, 1) ~ /[A-Za-z0-9_:]/) i--
  name = substr(written, i + 1, name - i)
  if (name !~ /^[A-Za-z_]/) fail(at, "<<< does not follow the name of a kernel")
  written = substr(written, 1, i)
  return name
}

# At <<<; the place after the launch.
function convert_launch(at,    name, end, config, open, close_at, arguments, parts) {
  name = take_name(at)
  end = index(substr(source, at), ">>>")
  if (end == 0) fail(at, "<<< without >>>")
  config = substr(source, at + 3, end - 4)
  open = at + end + 2
  while (substr(source, open, 1) ~ /[ \t\n]/) open++
  if (substr(source, open, 1) != "(") fail(at, "no ( follows >>>")
  close_at = closing(open)
  arguments = substr(source, open + 1, close_at - open - 1)
  if (config arguments ~ /\/\/|\/\*|"|'|<<</) fail(at, "a launch with a comment, a text or a launch inside")
  if (split_commas(config, parts, 0) < 2 || split_commas(config, parts, 0) > 4)
    fail(at, "a launch takes a grid, a block, and perhaps shared memory and a stream")
  written = written "emulate_launch(" gap "{\"" name "\", __FILE__, __LINE__}, {" config "}, " \
    "[](auto... a) { " name "(a...); }" substr(source, at + end + 2, open - at - end - 2) \
    (trim(arguments) == "" ? "" : ", ") arguments ")"
  return close_at + 1
}

# At __shared__; the place after the declaration.
function convert_shared(at,    end, text, n, i, parts, type, name, size, unknown) {
  unknown = "a declaration of shared memory that is not `__shared__ T x[N], y;`"
  if (written ~ /extern[ \t\n]*$/) fail(at, "shared memory whose size the launch gives is not emulated")
  end = index(substr(source, at), ";")
  text = substr(source, at + 10, end - 11)
  if (end == 0 || text ~ /[=(){}"'*&]/) fail(at, unknown)
  n = split_commas(text, parts, 1)
  for (i = 1; i <= n; i++) {
    parts[i] = trim(parts[i])
    if (!match(parts[i], /[A-Za-z_][A-Za-z0-9_]*[ ]*(\[[^]]*\])*$/)) fail(at, "shared memory without a name")
    if (i == 1) type = trim(substr(parts[1], 1, RSTART - 1))
    else if (RSTART != 1) fail(at, unknown)
    if (type == "") fail(at, "shared memory without a type")
    name = substr(parts[i], RSTART)
    size = index(name, "[") ? substr(name, index(name, "[")) : ""
    sub(/[ ]*\[.*/, "", name)
    written = written (i > 1 ? " " : "") "static char " name "_key; auto &" name " = emulate_shared<" \
      type size ">(\"" name "\", &" name "_key);"
  }
  gsub(/[^\n]/, "", text)
  written = written text
  return at + end
}

# The length of the comment or literal that `text` starts with; 0: it is never closed.
function length_of(text, token,    i) {
  if (token == "//") return index(text, "\n")
  if (token == "/*") {
    i = index(substr(text, 3), "*/")
    return i == 0 ? 0 : i + 3
  }
  for (i = 2; i <= length(text) && substr(text, i, 1) != "\n"; i++) {
    if (substr(text, i, 1) == token) return i
    if (substr(text, i, 1) == "\\") i++
  }
  return 0
}

# Comments and literals as they are; the place after them.
function copy(at, token,    text, size) {
  text = substr(source, at)
  size = length_of(text, token)
  if (size == 0) fail(at, token " is never closed")
  written = written substr(text, 1, size)
  return at + size
}

END {
  if (failed) exit 1
  printf "#line 1 \"%s\"\n", label
  at = 1
  while (match(substr(source, at), /\/\/|\/\*|"|'|<<<|__shared__/)) {
    written = written substr(source, at, RSTART - 1)
    token = substr(source, at + RSTART - 1, RLENGTH)
    at += RSTART - 1
    if (token == "<<<") at = convert_launch(at)
    else if (token == "__shared__") at = convert_shared(at)
    else at = copy(at, token)
  }
  printf "%s%s", written, substr(source, at)
}
