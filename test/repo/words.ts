import type { Texts } from '../../scripts/repository.ts'

interface Rule {
  pattern: RegExp
  why: string
}

// What belongs to one machine, or to the making rather than the thing made, has no place in the repository.
const rules: readonly Rule[] = [
  { pattern: /(?<![\w.\-/])\/(work|root)(?![\w-])/, why: "a path of one machine; use the repository's own paths" },
  { pattern: /\/tmp\/ref\b/, why: 'a path of one machine' },
  { pattern: /\bshared\/(DESIGN|REQUIREMENTS|STYLE|CONFORMANCE)\b/, why: 'a document outside the repository' },
  { pattern: /\bseeds\/\d|\b\d{3}_[0-9a-f]{16}\.txt\b/, why: 'a document outside the repository; name the SEP' },
  { pattern: /https?:\/\/[^\s/"']*registry[^\s/"']*/i, why: "a registry's address; the user's npm knows its own" },
  { pattern: /\bregistry\.npmjs\.org\b/, why: "a registry's address; the user's npm knows its own" },
  { pattern: /\bsittings?\b/i, why: 'a word about how this is made' },
  { pattern: /\b(helper|coding|sub-?) ?agents?\b/i, why: 'a word about how this is made' },
  { pattern: /\bco-authored-by\b/i, why: 'a word about how this is made' },
  { pattern: /\b(written|generated|made) by (an? )?(AI|LLM|language model|assistant)\b/i, why: 'how this is made' },
]

/** Words of sentences that have to be read twice. */
const RIDDLES = /\b(anew|(goes|went) on|told of|said of|whoever|of whom|so many)\b/i

/** Every line of documentation, or of a comment in source, that has one of these words. */
export function riddles(texts: Texts): string[] {
  return [...texts].flatMap(([path, text]) =>
    text
      .split('\n')
      .map((line) => (path.endsWith('.ts') ? (/(?:^\s*(?:\/\*)?\*|\/\/ )(.*)/.exec(line)?.[1] ?? '') : line))
      .flatMap((line, index) => (RIDDLES.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`] : [])),
  )
}

/** Every line that breaks a rule, as `path:line: text (why)`. */
export function wordProblems(texts: Texts): string[] {
  const problems: string[] = []
  for (const [path, text] of texts) {
    const broken = rules.filter(({ pattern }) => pattern.test(text))
    if (broken.length === 0) continue
    for (const [index, line] of text.split('\n').entries()) {
      const rule = broken.find(({ pattern }) => pattern.test(line))
      if (rule) problems.push(`${path}:${index + 1}: ${line.trim().slice(0, 120)} (${rule.why})`)
    }
  }
  return problems
}
