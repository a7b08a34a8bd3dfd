/**
 * What lists say of servers that were never reached: nothing of theirs is listed, and a client that knows one of their names
 * can say why, without asking for it.
 */
import { ABSENT_META_KEY, type Json } from '../../protocol/index.ts'
import type { Backend } from '../backends/backend.ts'
import { whyAbsent } from '../backends/connector.ts'
import { type CatalogNames, nameBehindView, SEPARATOR, type View } from '../catalog/index.ts'
import { notThere } from '../errors.ts'

/** So many servers are told of, that lists stay small. */
const MAX_ABSENT = 100

/** For the `_meta` of lists; undefined where all servers have been reached. */
export function absentMeta(backends: readonly Backend[], names: CatalogNames, view?: View): Json | undefined {
  const absent: [start: string, sentence: string][] = []
  for (const { name, about, condition } of backends) {
    const why = about === undefined ? whyAbsent(condition) : undefined
    if (why === undefined) continue
    const prefix = names.prefix(name)
    if (prefix === undefined) continue
    const start = `${prefix}${SEPARATOR}`
    const isServed = view === undefined || nameBehindView(view, start) !== undefined
    if (isServed && absent.push([start, notThere(name, why).message]) === MAX_ABSENT) break
  }
  return absent.length === 0 ? undefined : { [ABSENT_META_KEY]: Object.fromEntries(absent) }
}
