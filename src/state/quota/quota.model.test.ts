/** The quota against a model that sorts all its items each time. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { groupOf, Quota } from './quota.ts'
import type { Evictable } from './tally.ts'

type Measure = 'places' | 'chars'
type Scope = 'caller' | 'group' | 'all'

interface ModelItem {
  readonly item: number
  readonly caller: string
  readonly chars: number
  readonly evictable: Evictable
  readonly since: number
}

const limits = { caller: { places: 3, chars: 30 }, group: { places: 5, chars: 60 }, all: { places: 8, chars: 80 } }
const KINDS = ['always', 'unless-smaller', 'if-larger'] as const

class Model {
  items: ModelItem[] = []
  readonly evicted: number[] = []
  #changes = 0

  put(item: number, caller: string, chars: number, evictable: Evictable): boolean {
    const known = this.items.find((each) => each.item === item)
    if (known?.caller === caller && known.evictable === evictable) {
      this.items = this.items.map((each) => (each === known ? { ...known, chars } : each))
      if (this.#excess(caller) === undefined) return true
    }
    this.delete(item)
    this.items.push({ item, caller, chars, evictable: 'never', since: 0 })
    for (let excess = this.#excess(caller); excess !== undefined; excess = this.#excess(caller)) {
      if (this.#evict(this.#loser(excess.scope, excess.by, caller))) continue
      this.delete(item)
      return false
    }
    this.setEvictable(item, evictable)
    return true
  }

  setEvictable(item: number, evictable: Evictable): void {
    const known = this.items.find((each) => each.item === item)
    if (known === undefined || known.evictable === evictable) return
    this.items = [...this.items.filter((each) => each !== known), { ...known, evictable, since: ++this.#changes }]
  }

  delete(item: number): void {
    this.items = this.items.filter((each) => each.item !== item)
  }

  evict(by: Measure, caller?: string): boolean {
    if (caller === undefined) return this.#evict(this.#loser('all', by))
    const newcomer: ModelItem = { item: -1, caller, chars: 0, evictable: 'never', since: 0 }
    this.items.push(newcomer)
    const loser = this.#loser('all', by, caller)
    this.items = this.items.filter((each) => each !== newcomer)
    return this.#evict(loser)
  }

  amountOf(isOf: (item: ModelItem) => boolean): Record<Measure, number> {
    const items = this.items.filter(isOf)
    return { places: items.length, chars: items.reduce((sum, { chars }) => sum + chars, 0) }
  }

  #evict(loser: number | undefined): boolean {
    if (loser === undefined) return false
    this.delete(loser)
    this.evicted.push(loser)
    return true
  }

  #excess(caller: string): { scope: Scope; by: Measure } | undefined {
    for (const scope of ['caller', 'group', 'all'] as const) {
      if (scope === 'caller' && caller.endsWith('\n')) continue
      if (scope === 'group' && groupOf(caller) === caller) continue
      const { places, chars } = this.amountOf(within(scope, caller))
      if (places > limits[scope].places) return { scope, by: 'places' }
      if (places > 1 && chars > limits[scope].chars) return { scope, by: 'chars' }
    }
    return undefined
  }

  #loser(scope: Scope, by: Measure, newcomer?: string): number | undefined {
    const among = this.items.filter(within(scope, newcomer ?? ''))
    const groups = this.#ranked(among, by, ({ caller }) => groupOf(caller))
    const [caller] = this.#ranked(
      among.filter((item) => groupOf(item.caller) === groups[0]),
      by,
      (item) => item.caller,
    )
    if (caller === undefined) return undefined
    const allowed = KINDS.filter((kind) => kind === 'always' || this.#mayLose(kind, by, caller, newcomer))
    const candidates = allowed.flatMap((kind) => this.#oldestFirst(caller, kind))
    return candidates.find(({ chars }) => by === 'places' || chars > 0)?.item
  }

  #mayLose(kind: Evictable, by: Measure, caller: string, newcomer: string | undefined): boolean {
    if (newcomer === undefined) return false
    const isOneGroup = groupOf(caller) === groupOf(newcomer)
    const group = (name: string): number => this.amountOf(within('group', name))[by]
    const own = (name: string): number => this.amountOf(within('caller', name))[by]
    if (kind === 'unless-smaller') return group(caller) >= group(newcomer)
    return isOneGroup ? own(caller) > own(newcomer) : group(caller) > group(newcomer)
  }

  /** The names of those with something to evict, the largest first. */
  #ranked(among: readonly ModelItem[], by: Measure, nameOf: (item: ModelItem) => string): string[] {
    const names = new Set(among.filter(({ evictable }) => evictable !== 'never').map(nameOf))
    const size = (name: string): number => this.amountOf((item) => nameOf(item) === name)[by]
    return [...names].toSorted((a, b) => size(b) - size(a) || this.#since(a) - this.#since(b))
  }

  /** Of a group, that of its caller with the most places. */
  #since(name: string): number {
    const callers = new Set(
      this.items.map(({ caller }) => caller).filter((each) => groupOf(each) === name && each !== name),
    )
    if (callers.size === 0) return KINDS.flatMap((kind) => this.#oldestFirst(name, kind))[0]?.since ?? Infinity
    const places = (caller: string): number => this.amountOf(within('caller', caller)).places
    const evictable = [...callers].filter((caller) => this.#since(caller) < Infinity)
    const [first] = evictable.toSorted((a, b) => places(b) - places(a) || this.#since(a) - this.#since(b))
    return first === undefined ? Infinity : this.#since(first)
  }

  #oldestFirst(caller: string, kind: Evictable): ModelItem[] {
    const items = this.items.filter((item) => item.caller === caller && item.evictable === kind)
    return items.toSorted((a, b) => a.since - b.since)
  }
}

function within(scope: Scope, caller: string): (item: ModelItem) => boolean {
  if (scope === 'all') return () => true
  return scope === 'caller' ? (item) => item.caller === caller : (item) => groupOf(item.caller) === groupOf(caller)
}

const caller = fc.constantFrom('ann', 'bob', 'net\none', 'net\ntwo', 'net\n', 'other\none', 'cay')
const evictable = fc.constantFrom<Evictable>('always', 'unless-smaller', 'if-larger', 'never')
const item = fc.nat(15)
const by = fc.constantFrom<Measure>('places', 'chars')
const step = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), item, caller, chars: fc.nat(25), evictable }),
  fc.record({ kind: fc.constant('put' as const), item, caller, chars: fc.nat(25), evictable }),
  fc.record({ kind: fc.constant('delete' as const), item }),
  fc.record({ kind: fc.constant('set' as const), item, evictable }),
  fc.record({ kind: fc.constant('evict' as const), by, caller: fc.option(caller, { nil: undefined }) }),
)

test('a quota evicts, refuses and counts as its rules say', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const evicted: number[] = []
      const quota = new Quota<number>({ ...limits, evict: (each) => evicted.push(each) })
      const model = new Model()
      for (const each of steps) {
        if (each.kind === 'put') {
          const { caller: name, chars, evictable: kind } = each
          expect(quota.put(each.item, each)).toBe(model.put(each.item, name, chars, kind))
        } else if (each.kind === 'delete') {
          quota.delete(each.item)
          model.delete(each.item)
        } else if (each.kind === 'set') {
          quota.setEvictable(each.item, each.evictable)
          model.setEvictable(each.item, each.evictable)
        } else expect(quota.evict(each.by, each.caller)).toBe(model.evict(each.by, each.caller))
      }
      expect(evicted).toEqual(model.evicted)
      expect(quota.all).toEqual(model.amountOf(() => true))
      expect(quota.callers).toBe(new Set(model.items.map(({ caller: name }) => name)).size)
      expect(quota.of('net\none')).toMatchObject(model.amountOf(within('caller', 'net\none')))
    }),
    { numRuns: 100 },
  )
})
