/** Reads the texts of a program: which places its calls write, which packages it needs, and how much of it could be read. */
import { keptIn } from './kept.ts'
import { type FileFacts, readProgramFile } from './reading.ts'
import type { ProgramFacts } from './signals.ts'
import { type AnyNode, childrenOf, nameOf, parsed } from './syntax.ts'

/** One file of a program, parsed as far as it could be. */
export interface ParsedFile {
  readonly path: string
  /** Undefined if the file cannot be parsed, or its own part cannot be separated from bundled packages. */
  readonly facts: FileFacts | undefined
  /** Its imports: packages, and paths that begin with a dot. */
  readonly imported: readonly string[]
}

/** Longer lines than these, on average, were not written by hand. */
const MINIFIED_LINE = 200
const DEPENDENCY = /^;?\/\/(?:#region)? (?:CONCATENATED MODULE: )?(.*)$/gm

export function parseFile(path: string, text: string): ParsedFile {
  const own = withoutDependencies(text)
  const program = isMinified(own) ? undefined : parsed(own)
  if (program === undefined) return { path, facts: undefined, imported: [] }
  return { path, facts: readProgramFile(path, program), imported: [...new Set(importsIn(program))] }
}

/**
 * A bundler writes the path of each file that it takes in as a comment before it. Code from node_modules is blanked
 * instead of removed, so that line numbers stay.
 */
export function withoutDependencies(text: string): string {
  const marks = [...text.matchAll(DEPENDENCY)].filter(([, path = '']) =>
    /^\S+\.[cm]?[jt]sx?$|node_modules\//.test(path),
  )
  if (!marks.some(([, path = '']) => path.includes('node_modules/'))) return text
  let own = text.slice(0, marks[0]?.index)
  for (const [at, mark] of marks.entries()) {
    const part = text.slice(mark.index, marks[at + 1]?.index)
    own += mark[1]?.includes('node_modules/') ? part.replace(/[^\n]+/g, '') : part
  }
  return own
}

function isMinified(text: string): boolean {
  return text.length > MINIFIED_LINE * 10 && text.length / text.split('\n').length > MINIFIED_LINE
}

export function factsOf(files: readonly ParsedFile[], dependencies: readonly string[], skipped: number): ProgramFacts {
  const read = files.flatMap(({ facts }) => facts ?? [])
  const packages = files.flatMap(({ imported }) => imported).filter((one) => !one.startsWith('.'))
  return {
    kept: keptIn(read),
    packages: [...new Set([...dependencies, ...packages])],
    handlers: read.flatMap(({ functions }) => functions).filter(({ isHandler }) => isHandler).length,
    unread: files.length - read.length + skipped,
    read: read.length,
  }
}

function importsIn(node: AnyNode): readonly string[] {
  const below = childrenOf(node).flatMap(importsIn)
  const own = importOf(node)
  return own === undefined ? below : [own, ...below]
}

function importOf(node: AnyNode): string | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
    case 'ImportExpression':
      return nameOf(node.source)
    case 'CallExpression':
      return nameOf(node.callee) === 'require' ? nameOf(node.arguments[0]) : undefined
    default:
      return undefined
  }
}
