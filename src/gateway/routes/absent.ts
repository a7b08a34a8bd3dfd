/**
 * Reports unavailable servers in the `_meta` of lists. Their tools are not listed, so a client that knows one of their
 * names can explain it without a call.
 */
import { ABSENT_META_KEY, type Json } from '../../protocol/index.ts'
import type { Backend } from '../backends/backend.ts'
import { whyAbsent } from '../backends/connector.ts'
import { type CatalogNames, nameBehindView, SEPARATOR, type View } from '../catalog/index.ts'
import { notThere } from '../errors.ts'

/** Maximum number of unavailable servers reported. */
const MAX_ABSENT = 100

/** The `_meta` of lists; undefined if all servers have been reached. */
export function absentMeta(backends: readonly Backend[], names: CatalogNames, view?: View): Json | undefined {
  const absent: [start: string, sentence: string][] = []
  for (const { name, connector } of backends) {
    const { about, condition } = connector
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
