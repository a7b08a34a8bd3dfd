import { type ArrowFunctionExpression, type Node, parseSync, Visitor } from 'oxc-parser'

/** A part of a file that runs whole or not at all, as far as its own statements go. It is named by where it starts. */
export interface Block {
  start: number
  end: number
}

interface Wrapped extends Block {
  /** What is written before and after it, so that it tells when it is reached. */
  before: string
  after: string
}

/** Bodies of functions and loops, and the branches of conditions. */
export function blocksOf(path: string, text: string): Block[] {
  return wrappedBlocks(path, text, () => '').map(({ start, end }) => ({ start, end }))
}

/** The text with a call of `__reached` at the start of each block. Lines stay where they are. */
export function withProbes(path: string, text: string): string {
  const wrapped = wrappedBlocks(path, text, (start) => `__reached(${JSON.stringify(path)}, ${start})`)
  const insertions = wrapped.flatMap(({ start, end, before, after }) => [
    // At one place inner blocks end before outer ones end, outer ones start before inner ones, and ends come before starts.
    { at: end, rank: 0, size: end - start, text: after },
    { at: start, rank: 1, size: start - end, text: before },
  ])
  let result = ''
  let done = 0
  for (const { at, text: inserted } of insertions.toSorted(
    (a, b) => a.at - b.at || a.rank - b.rank || a.size - b.size,
  )) {
    result += text.slice(done, at) + inserted
    done = at
  }
  return result + text.slice(done)
}

function wrappedBlocks(path: string, text: string, probe: (start: number) => string): Wrapped[] {
  const blocks: Wrapped[] = []
  const add = ({ start, end }: Node, before: string, after: string): void =>
    void blocks.push({ start, end, before, after })
  const expression = (node: Node): void => add(node, `(${probe(node.start)}, `, ')')
  const statement = (node: Node): void => {
    if (node.type !== 'BlockStatement') add(node, `{ ${probe(node.start)}; `, ' }')
  }
  new Visitor({
    BlockStatement(node) {
      // Inside the braces: what is written there belongs to the block.
      blocks.push({ start: node.start + 1, end: node.end, before: `${probe(node.start + 1)};`, after: '' })
    },
    ArrowFunctionExpression(node: ArrowFunctionExpression) {
      if (node.body.type !== 'BlockStatement') expression(node.body)
    },
    IfStatement({ consequent, alternate }) {
      statement(consequent)
      if (alternate !== null && alternate.type !== 'IfStatement') statement(alternate)
    },
    ConditionalExpression({ consequent, alternate }) {
      expression(consequent)
      expression(alternate)
    },
    LogicalExpression: ({ right }) => expression(right),
    SwitchCase({ consequent }) {
      const [first] = consequent
      const last = consequent.at(-1)
      if (first === undefined || last === undefined || first.type === 'BlockStatement') return
      blocks.push({ start: first.start, end: last.end, before: `${probe(first.start)}; `, after: '' })
    },
  }).visit(parseSync(path, text).program)
  return blocks
}

/** The smallest block that holds a place, or undefined for what runs when the file is loaded. */
export function blockAt(blocks: readonly Block[], at: number): Block | undefined {
  const around = blocks.filter(({ start, end }) => start <= at && at < end)
  return around.toSorted((a, b) => a.end - a.start - (b.end - b.start))[0]
}
