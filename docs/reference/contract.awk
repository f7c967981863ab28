# SPDX-License-Identifier: Apache-2.0
#
# Finds classes and functions outside detail whose comments lack a part of their contract:
# awk -f contract.awk kind=contract contract.txt kind=header <headers>

function trimmed(text) { gsub(/^ +| +$/, "", text); return text }

kind == "contract" {
  if (/^#/) next
  split($0, field, " [|] ?")
  what[++rules] = trimmed(field[1]); where[rules] = trimmed(field[2])
  like[rules] = trimmed(field[3]); parts[rules] = trimmed(field[4])
  next
}

FNR == 1 { judge(); hidden = 0 }
/^namespace (tutti::(inline v[0-9_]+::)?)?detail.*{$/ { hidden = 1 }
/^}.*namespace (tutti::)?detail/ { judge(); hidden = 0; next }
/^\/\/\// && !commenting { judge(); begin = FNR }
{ commenting = /^\/\/\//; path = FILENAME; line_of[++lines] = $0 }
/^}/ { judge() }
END { judge(); exit failed }

# Checks the lines since the last comment began, up to the end of its declaration.
function judge(   rule, i, n, part, said, fits) {
  for (rule = 1; rule <= rules && !hidden; ++rule) {
    if (!index(path, where[rule])) continue
    fits = 0
    for (i = 1; i <= lines; ++i) fits = fits || line_of[i] ~ like[rule]
    n = fits ? split(parts[rule], part, ", ") : 0
    while (n > 0) {
      said = 0
      for (i = 1; i <= lines; ++i) said = said || line_of[i] ~ ("^ *///( Collective\\.)? " part[n] " ")
      if (!said) {
        print path ":" begin ": this " what[rule] " has no \"/// " part[n] "\": see docs/reference/contract.txt"
        failed = 1
      }
      --n
    }
  }
  lines = 0
}
