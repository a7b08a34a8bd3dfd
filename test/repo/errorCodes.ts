import { parseSync, Visitor } from 'oxc-parser'
import type { Texts } from '../../scripts/repository.ts'

/** Each error code of the source, and the file that declares it. */
export type Codes = Map<string, string>

/** The members of every `export const …_CODES = ['…'] as const` in these files. */
export function codesInSource(texts: Texts): Codes {
  const codes: Codes = new Map()
  for (const [path, text] of texts) {
    new Visitor({
      VariableDeclarator({ id, init }) {
        if (id.type !== 'Identifier' || !id.name.endsWith('_CODES')) return
        const list = init?.type === 'TSAsExpression' ? init.expression : init
        if (list?.type !== 'ArrayExpression') throw new Error(`${path}: ${id.name} must be [...] as const.`)
        for (const element of list.elements) {
          if (element?.type !== 'Literal' || typeof element.value !== 'string') {
            throw new Error(`${path}: every member of ${id.name} must be a string literal.`)
          }
          codes.set(element.value, path)
        }
      },
    }).visit(parseSync(path, text).program)
  }
  return codes
}

/** The codes a page lists: the first cell of a table row, in code marks. */
function codesInPage(page: string): string[] {
  return [...page.matchAll(/^\|\s*`([A-Z][A-Z0-9_]*)`\s*\|/gm)].map((match) => match[1] ?? '')
}

/** How the page and the source differ, with the rows to add. */
export function codeProblems(codes: Codes, page: string): string[] {
  const listed = codesInPage(page)
  const missing = [...codes].filter(([code]) => !listed.includes(code))
  const twice = listed.filter((code, index) => listed.indexOf(code) !== index)
  return [
    ...missing.map(
      ([code, path]) => `add to docs/reference/errors.md, from ${path}: | \`${code}\` | what it means | what to do |`,
    ),
    ...listed
      .filter((code) => !codes.has(code))
      .map((code) => `remove from docs/reference/errors.md: ${code} is not in the source`),
    ...twice.map((code) => `docs/reference/errors.md lists ${code} twice`),
  ]
}
