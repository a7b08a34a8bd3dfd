import { parseSync, Visitor } from 'oxc-parser'
import type { Texts } from '../repository.ts'

/** One test that cites a requirement. */
export interface Citation {
  id: string
  path: string
  sentence: string
}

type Arguments = Parameters<NonNullable<ConstructorParameters<typeof Visitor>[0]['CallExpression']>>[0]['arguments']

/** Every `proves('ID', 'sentence', …)` in these test files, read without running them. */
export function readCitations(tests: Texts): Citation[] {
  const citations: Citation[] = []
  for (const [path, text] of tests) {
    if (!text.includes('proves(')) continue
    new Visitor({
      CallExpression({ callee, arguments: args }) {
        if (callee.type !== 'Identifier' || callee.name !== 'proves') return
        const sentence = readSentence(args[1])
        const ids = readIds(args[0])
        if (!ids || sentence === undefined) {
          throw new Error(`${path}: proves() takes its ids and its sentence as literals, found ${quote(text, args)}.`)
        }
        for (const id of ids) citations.push({ id, path, sentence })
      },
    }).visit(parseSync(path, text).program)
  }
  return citations
}

function readIds(node: Arguments[number] | undefined): string[] | undefined {
  if (node?.type === 'ArrayExpression') {
    const parts = node.elements.map((element) => readIds(element ?? undefined))
    return parts.every((part) => part !== undefined) ? parts.flat() : undefined
  }
  const text = node?.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined
  return text?.split(/\s+/).filter(Boolean)
}

/** A sentence with a placeholder, as in a table of cases, is shown with an ellipsis in its place. */
function readSentence(node: Arguments[number] | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node?.type !== 'TemplateLiteral') return undefined
  return node.quasis.map((quasi) => quasi.value.cooked ?? '').join('…')
}

function quote(text: string, args: Arguments): string {
  return text.slice(args[0]?.start ?? 0, args[1]?.end ?? args[0]?.end ?? 0).slice(0, 80)
}
