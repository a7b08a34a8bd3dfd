import { type TestFunction, test } from 'vitest'
import data from '../docs/reference/requirements.json' with { type: 'json' }

const known = new Set(data.requirements.map(({ id }) => id))

/**
 * A test that proves requirements. `ids` names them (`'MRTR-12'`, `'ST-1 ST-3'` or a list) as literals, because
 * `npm run docs` reads them from the source to write docs/reference/requirements.md. The sentence is true or false on its own.
 */
export function proves(ids: string | readonly string[], sentence: string, fn: TestFunction, timeoutMs?: number): void {
  const cited = typeof ids === 'string' ? ids.split(/\s+/).filter(Boolean) : ids
  if (cited.length === 0) throw new Error(`"${sentence}" cites no requirement; use test() for a test that proves none.`)
  for (const id of cited) {
    if (!known.has(id)) throw new Error(`"${sentence}" cites ${id}, which is not in docs/reference/requirements.json.`)
  }
  test(`[${cited.join(' ')}] ${sentence}`, fn, timeoutMs)
}
