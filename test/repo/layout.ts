import { posix } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { isTest, type Texts } from '../../scripts/repository.ts'

/** More than this in one folder, and it has parts that want folders of their own. */
const MAX_SOURCES = 16

// A number of JSON-RPC or MCP, or the longest timer, written out where a name of src/protocol belongs.
const LITERALS = /-32(?:70|60|0[0-2])\d\b|\b2 ?\*\* ?31 ?- ?1\b|\b2_147_483_647\b/

/** Every break of the layout rules in the sources of src, as sentences. */
export function layoutProblems(texts: Texts): string[] {
  const sources = [...texts.keys()].filter((path) => !isTest(path))
  return [
    ...crowdedFolders(sources),
    ...namelessTests([...texts.keys()]),
    ...repeatedTypes(texts),
    ...writtenOutLiterals(texts),
  ]
}

function crowdedFolders(sources: readonly string[]): string[] {
  return [...Map.groupBy(sources, (path) => posix.dirname(path))]
    .filter(([, files]) => files.length > MAX_SOURCES)
    .map(([folder, files]) => `${folder}: ${files.length} source files; give its parts folders of their own.`)
}

/** `seal.test.ts` and `seal.mutations.test.ts` stand beside `seal.ts`. */
function namelessTests(paths: readonly string[]): string[] {
  const all = new Set(paths)
  return paths
    .filter((path) => isTest(path) && !all.has(path.replace(/(\.[A-Za-z0-9]+)?\.test\.ts$/, '.ts')))
    .map((path) => `${path}: named after no file beside it; call it FILE.test.ts or FILE.ASPECT.test.ts.`)
}

/** A name of a type or a class means one thing in the whole package. */
function repeatedTypes(texts: Texts): string[] {
  const places = new Map<string, string[]>()
  for (const [path, text] of texts) {
    if (isTest(path)) continue
    for (const name of typesIn(path, text)) places.set(name, [...(places.get(name) ?? []), path])
  }
  return [...places]
    .filter(([, paths]) => paths.length > 1)
    .map(([name, paths]) => `${name}: declared in ${paths.join(' and ')}; one name means one thing.`)
}

function typesIn(path: string, text: string): Set<string> {
  const names = new Set<string>()
  const add = ({ id }: { id: { name: string } | null }): void => {
    if (id !== null) names.add(id.name)
  }
  new Visitor({
    TSInterfaceDeclaration: add,
    TSTypeAliasDeclaration: add,
    ClassDeclaration: add,
  }).visit(parseSync(path, text).program)
  return names
}

function writtenOutLiterals(texts: Texts): string[] {
  const problems: string[] = []
  for (const [path, text] of texts) {
    if (isTest(path) || path.startsWith('src/protocol/')) continue
    for (const [index, line] of text.split('\n').entries()) {
      const isComment = /^\s*(\/\/|\/?\*)/.test(line)
      if (!isComment && LITERALS.test(line.replace(/\/\/.*$/, '').replace(/'[^']*'/g, "''"))) {
        problems.push(`${path}:${index + 1}: write the name that src/protocol has for this number.`)
      }
    }
  }
  return problems
}
