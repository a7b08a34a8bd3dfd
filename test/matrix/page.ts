/** docs/reference/matrix.md: what is written by hand stays, what a run found stands between marks. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/repository.ts'

const path = join(root, 'docs/reference/matrix.md')

/** `name`: which results; those of others stay. */
export function writeResults(name: string, results: string): void {
  const page = readFileSync(path, 'utf8')
  const [begin, end] = [`<!-- ${name} begins -->`, `<!-- ${name} ends -->`]
  const [before, rest] = page.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined)
    throw new Error(`docs/reference/matrix.md has no place for "${name}".`)
  writeFileSync(path, `${before}${begin}\n\n${results}\n${end}${after}`)
}
