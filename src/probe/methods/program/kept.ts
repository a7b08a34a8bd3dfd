/**
 * State that calls leave in a process: places outside the functions of a call that these functions write. The functions of a
 * call are followed by name, from the handlers of tools on.
 */
import { dirname, join } from 'node:path/posix'
import type { FunctionFacts, CodePlace, PlaceWrite } from './places.ts'
import { type Reach, reachOf } from './reach.ts'
import type { FileFacts } from './writes.ts'

export interface KeptPlace {
  readonly place: CodePlace
  /** Filled with several things; set to one; counted; or made once, where it was not there. */
  readonly kind: 'filled' | 'set' | 'counted' | 'first'
  /** Whether a call reads it that does not write it: what another call left. */
  readonly isCrossed: boolean
  /** Whether calls also empty it again. */
  readonly isEmptied: boolean
  /** Whether what it is given comes from the call. */
  readonly isFromCall: boolean
  /** Whether only events write it, and no call. */
  readonly isByEvent: boolean
  /** Whether things are appended to it, rather than stored by a key. */
  readonly isAppended: boolean
  /** Whether calls run its methods without using a result. */
  readonly isActedOn: boolean
  /** Whether what is written is saved in a file or a database as well, as far as can be told. */
  readonly isSaved: boolean
  /** Whether it belongs to an object that calls make for themselves, as far as can be told. */
  readonly isShort: boolean
}

const SAVING = /^(writeFile|writeFileSync|appendFile|appendFileSync|save\w*|persist\w*|_save\w*)$/

export function keptIn(files: readonly FileFacts[]): readonly KeptPlace[] {
  linkImports(files)
  linkFields(files)
  linkReturned(files)
  const { calls, events, lasting } = reachOf(files)
  const makers = new Map<string, FunctionFacts[]>()
  for (const { name, by } of files.flatMap(({ made }) => made)) makers.set(name, [...(makers.get(name) ?? []), by])
  return files
    .flatMap((file) => file.places)
    .flatMap((place) => {
      if (isOfCall(place, lasting)) return []
      const kept = keptAs(place, calls, events)
      if (kept === undefined) return []
      const made = place.owner?.name === undefined ? [] : (makers.get(place.owner.name) ?? [])
      const isShort = place.owner !== undefined && made.length > 0 && made.every((by) => calls.has(by))
      return [{ ...kept, isShort }]
    })
}

function keptAs(place: CodePlace, calls: Reach, events: Reach): Omit<KeptPlace, 'isShort'> | undefined {
  if (place.isFixed) return undefined
  const isMade = (by: FunctionFacts): boolean => place.owner !== undefined && by.names.has('constructor')
  const writes = place.writes.filter(({ by }) => (calls.has(by) || events.has(by)) && by !== place.home && !isMade(by))
  const giving = writes.filter(({ how, value }) => how !== 'take' && value !== 'empty')
  if (giving.length === 0 || !isOwn(place, giving)) return undefined
  const readers = rootsOf(place.readers, calls)
  if (readers.size === 0 && !giving.every(({ how }) => how === 'count')) return undefined
  const writers = rootsOf(
    giving.map(({ by }) => by),
    calls,
  )
  const puts = giving.filter(({ how }) => how === 'put' || how === 'member')
  return {
    place,
    kind: kindOf(giving, puts),
    isCrossed: [...readers].some((root) => !writers.has(root)),
    isEmptied: writes.some(({ how, value }) => how === 'take' || (how === 'assign' && value === 'empty')),
    isFromCall: giving.some(({ value }) => value === 'call'),
    isByEvent: giving.every(({ by }) => !calls.has(by)),
    isAppended: puts.length > 0 && place.start === 'list',
    isActedOn: [...place.actors].some((by) => calls.has(by)),
    isSaved: giving.some(({ by }) => [...by.calls].some((name) => SAVING.test(name))),
  }
}

function kindOf(giving: readonly PlaceWrite[], puts: readonly PlaceWrite[]): KeptPlace['kind'] {
  if (giving.every(({ how }) => how === 'count')) return 'counted'
  if (giving.every(({ isFirst }) => isFirst)) return 'first'
  return puts.length > 0 ? 'filled' : 'set'
}

/** A method `add` or `set` of something that was made elsewhere may do anything. */
function isOwn({ start }: CodePlace, giving: readonly PlaceWrite[]): boolean {
  if (['collection', 'list', 'object', 'nothing'].includes(start)) return true
  return giving.some(({ how }) => how !== 'put' && how !== 'member')
}

/** Whether it is declared in a function that is over with the call, the event or the HTTP request that runs it. */
function isOfCall({ home, owner }: CodePlace, lasting: ReadonlySet<FunctionFacts>): boolean {
  return owner === undefined && home.parent !== undefined && !lasting.has(home)
}

function rootsOf(functions: Iterable<FunctionFacts>, calls: Reach): ReadonlySet<number> {
  return new Set([...functions].flatMap((one) => [...(calls.get(one) ?? [])]))
}

/** An imported place is the place of the file that exports it. */
function linkImports(files: readonly FileFacts[]): void {
  const byPath = new Map(files.map((one) => [one.file, one]))
  for (const file of files) {
    for (const { place, from, name } of file.imports) {
      if (!from.startsWith('.')) continue
      const target = fileAt(join(dirname(file.file), from), byPath)?.exports.get(name)
      if (target === undefined) continue
      target.writes.push(...place.writes)
      for (const reader of place.readers) target.readers.add(reader)
    }
  }
}

/** A field of a class is that of the class that it extends. */
function linkFields(files: readonly FileFacts[]): void {
  const classes = files.flatMap((file) => file.classes)
  const byName = new Map(classes.map((one) => [one.name, one]))
  for (const { base, fields } of classes) {
    const above = base === undefined ? undefined : byName.get(base)
    for (const [name, field] of fields) {
      const inherited = above?.fields.get(name)
      if (inherited === undefined || inherited === field) continue
      inherited.writes.push(...field.writes)
      for (const reader of field.readers) inherited.readers.add(reader)
    }
  }
}

/** After `const page = await getPage()` actions on `page` are actions on the place whose value `getPage` returns. */
function linkReturned(files: readonly FileFacts[]): void {
  const returning = Map.groupBy(
    files.flatMap(({ functions }) => functions).filter(({ returned }) => returned.size > 0),
    ({ names }) => [...names][0] ?? '',
  )
  for (const { from, actors } of files.flatMap(({ places }) => places)) {
    if (from === undefined || actors.size === 0) continue
    for (const { returned } of returning.get(from) ?? [])
      for (const place of returned) for (const by of actors) place.actors.add(by)
  }
}

const ENDINGS = ['', '.js', '.mjs', '.cjs', '/index.js', '/index.mjs', '/index.cjs'] as const

function fileAt<T>(path: string, files: ReadonlyMap<string, T>): T | undefined {
  for (const ending of ENDINGS) {
    const found = files.get(path + ending)
    if (found !== undefined) return found
  }
  return undefined
}
