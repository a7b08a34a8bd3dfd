import { assertOptionNames } from '../../protocol/index.ts'
import {
  createJar,
  isKnown,
  JAR_OPTIONS,
  type JarBackend,
  type JarHorizon,
  type JarOptions,
  type JarRecord,
  jarSettings,
  type JarTime,
  scopeOf,
  serverKey,
} from './jar.ts'
import type { JarSet } from './rules.ts'
import type { Jar, JarEntry, JarFilter, JarKey, JarOwner } from './store.ts'

/** A jar in the memory of this process. */
export function memoryJar(options: JarOptions = {}): Jar {
  assertOptionNames(options, JAR_OPTIONS, 'memoryJar')
  return createJar(new MemoryBackend(), jarSettings(options))
}

interface Dictionary {
  readonly key: JarKey
  readonly records: Map<string, JarRecord & { readonly bytes: number }>
}

/** Entries by principal, then by server and context, then by name. An empty map is removed. */
class MemoryBackend implements JarBackend {
  readonly #principals = new Map<string, Map<string, Dictionary>>()

  // Needs no rollback: values were checked before, so no operation fails.
  atomically<Result>(run: () => Result): Result {
    return run()
  }

  read(owner: JarOwner): JarRecord[] {
    const group = this.#principals.get(owner.principal)
    if (group === undefined) return []
    return [owner, serverKey(owner)].flatMap((key) => [...(group.get(idOf(key))?.records.values() ?? [])])
  }

  put(key: JarKey, { scope, name, text, bytes }: JarSet, time: JarTime): void {
    const { records } = this.#find(key) ?? this.#add(key)
    const known = records.get(name)
    if (known && isKnown(known, text, time)) return
    records.set(name, { scope, name, text, bytes, updatedAt: time.now, usedAt: time.now })
  }

  delete(key: JarKey, name: string): void {
    const dictionary = this.#find(key)
    if (dictionary?.records.delete(name) && dictionary.records.size === 0) this.#drop(key)
  }

  touch(owner: JarOwner, now: number, { sessionUsedAt }: JarHorizon): void {
    for (const key of [owner, serverKey(owner)]) {
      const records = this.#find(key)?.records
      for (const record of records?.values() ?? []) {
        const isOver = record.scope === 'session' && record.usedAt <= sessionUsedAt
        if (!isOver) records?.set(record.name, { ...record, usedAt: now })
      }
    }
  }

  count({ principal, server }: JarOwner): { ofServer: number; ofPrincipal: number } {
    const counts = { ofServer: 0, ofPrincipal: 0 }
    for (const { key, records } of this.#principals.get(principal)?.values() ?? []) {
      counts.ofPrincipal += records.size
      if (key.server === server) counts.ofServer += records.size
    }
    return counts
  }

  entries(filter: JarFilter): JarEntry[] {
    return this.items(filter).map(({ text: _text, ...entry }) => entry)
  }

  items({ principal, server, name }: JarFilter): (JarEntry & { text: string })[] {
    const groups = principal === undefined ? [...this.#principals.values()] : [this.#principals.get(principal)]
    return groups
      .flatMap((group) => [...(group?.values() ?? [])])
      .filter(({ key }) => server === undefined || key.server === server)
      .flatMap(({ key, records }) => [...records.values()].map((record) => ({ ...key, ...record })))
      .filter((item) => name === undefined || item.name === name)
  }

  endContext(principal: string, context: string): void {
    for (const { key } of this.#principals.get(principal)?.values() ?? []) if (key.context === context) this.#drop(key)
  }

  sweep({ updatedAt, sessionUsedAt }: JarHorizon): void {
    for (const item of this.items({})) {
      const isIdle = scopeOf(item) === 'session' && item.usedAt <= sessionUsedAt
      if (isIdle || item.updatedAt <= updatedAt) this.delete(item, item.name)
    }
  }

  erase(): void {}

  close(): void {
    this.#principals.clear()
  }

  #find(key: JarKey): Dictionary | undefined {
    return this.#principals.get(key.principal)?.get(idOf(key))
  }

  #add({ server, principal, context }: JarKey): Dictionary {
    const dictionary: Dictionary = { key: { server, principal, context }, records: new Map() }
    const group = this.#principals.get(principal) ?? new Map<string, Dictionary>()
    this.#principals.set(principal, group.set(idOf(dictionary.key), dictionary))
    return dictionary
  }

  #drop(key: JarKey): void {
    const group = this.#principals.get(key.principal)
    if (group?.delete(idOf(key)) && group.size === 0) this.#principals.delete(key.principal)
  }
}

function idOf({ server, context }: JarKey): string {
  return JSON.stringify([server, context ?? null])
}
