/**
 * One file of a project: its text, its tree, and the edits to make. Text outside of edits stays unchanged, byte by
 * byte.
 */
import { type Comment, type Node, type ParserOptions, parseSync, type Program, visitorKeys } from 'oxc-parser'

interface Edit {
  readonly start: number
  readonly end: number
  /** A function is called when the text is assembled, so that its text can contain further edits. */
  readonly text: string | (() => string)
}

export interface Range {
  readonly start: number
  readonly end: number
}

export class Source {
  /** Relative to the project, with slashes. */
  readonly path: string
  readonly text: string
  readonly program: Program
  readonly comments: readonly Comment[]
  /** All nodes, in pre-order. */
  readonly nodes: readonly Node[]
  readonly #parents = new Map<Node, Node>()
  readonly #edits: Edit[] = []

  /** Throws when the text cannot be parsed. */
  constructor(path: string, text: string) {
    this.path = path
    this.text = text
    const { program, comments } = parse(path, text)
    this.program = program
    this.comments = comments
    this.nodes = [...this.#walk(program)]
  }

  *#walk(node: Node): Generator<Node> {
    yield node
    for (const child of childrenOf(node)) {
      this.#parents.set(child, node)
      yield* this.#walk(child)
    }
  }

  parentOf(node: Node): Node | undefined {
    return this.#parents.get(node)
  }

  *ancestorsOf(node: Node): Generator<Node> {
    for (let at = this.parentOf(node); at !== undefined; at = this.parentOf(at)) yield at
  }

  /** All nodes in a node, and itself. */
  within(node: Range): Node[] {
    return this.nodes.filter(({ start, end }) => start >= node.start && end <= node.end)
  }

  lineAt(offset: number): number {
    return this.text.slice(0, offset).split('\n').length
  }

  textOf({ start, end }: Range): string {
    return this.text.slice(start, end)
  }

  replace({ start, end }: Range, text: string | (() => string)): void {
    this.#edits.push({ start, end, text })
  }

  insert(at: number, text: string): void {
    this.#edits.push({ start: at, end: at, text })
  }

  get isEdited(): boolean {
    return this.#edits.length > 0
  }

  /** Whether an edit replaces this place. */
  isReplaced({ start, end }: Range): boolean {
    return this.#edits.some((edit) => edit.start < edit.end && edit.start <= start && edit.end >= end)
  }

  /** A part of the text with the edits in it. Of two that overlap, the outer one counts. */
  render({ start, end }: Range = { start: 0, end: this.text.length }): string {
    const inside = this.#edits
      .filter((edit) => edit.start >= start && edit.end <= end)
      .toSorted((a, b) => a.start - b.start || Number(a.start !== a.end) - Number(b.start !== b.end) || b.end - a.end)
    let out = ''
    let at = start
    for (const edit of inside) {
      if (edit.start < at) continue
      out += this.text.slice(at, edit.start) + (typeof edit.text === 'string' ? edit.text : edit.text())
      at = edit.end
    }
    return out + this.text.slice(at, end)
  }
}

export function parse(path: string, text: string): { program: Program; comments: readonly Comment[] } {
  const options: ParserOptions = { preserveParens: false }
  const { program, comments, errors } = parseSync(path, text, options)
  if (errors[0] !== undefined) throw new SyntaxError(errors[0].message)
  return { program, comments }
}

export function childrenOf(node: Node): Node[] {
  const children: Node[] = []
  for (const key of visitorKeys[node.type] ?? []) {
    const value = (node as unknown as Record<string, unknown>)[key]
    if (Array.isArray(value)) children.push(...value.filter(isNode))
    else if (isNode(value)) children.push(value)
  }
  return children
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}
