/**
 * State that calls leave in a process: places outside the functions of a call that these functions write. The functions of a
 * call are followed by name, from the handlers of tools on.
 */
import type { CodePlace, FunctionFacts } from './places.ts'
import type { FileFacts } from './reading.ts'

export interface KeptPlace {
  readonly place: CodePlace
  /** Whether calls add to it, rather than only give it another value. */
  readonly isFilled: boolean
  /** Whether a call reads it that does not write it: what another call left. */
  readonly isCrossed: boolean
  /** Whether what is written is saved in a file or a database as well, as far as can be told. */
  readonly isSaved: boolean
}

/** For each function, the numbers of the handlers whose calls may run it. */
type Reach = ReadonlyMap<FunctionFacts, ReadonlySet<number>>

const SAVING = /^(writeFile|writeFileSync|appendFile|appendFileSync|save\w*|persist\w*|_save\w*)$/
/** Functions that prepare the server. A method of such a name is not what a call runs. */
const PREPARING =
  /^(main|start|run|listen|serve|bootstrap|constructor|init|initialize|setup\w*|register\w*|create\w*Server|startServer)$/
const MAX_ROOTS = 500
/** A bundle of thousands of functions is followed so far. */
const MAX_STEPS = 400_000

export function keptIn(files: readonly FileFacts[]): readonly KeptPlace[] {
  const calls = reachOf(files.flatMap(({ functions }) => functions).filter(({ parent }) => parent !== undefined))
  return files.flatMap(({ places }) => places.flatMap((place) => keptAs(place, calls) ?? []))
}

function reachOf(functions: readonly FunctionFacts[]): Reach {
  const byName = new Map<string, FunctionFacts[]>()
  for (const one of functions) for (const name of one.names) byName.set(name, [...(byName.get(name) ?? []), one])
  const children = Map.groupBy(functions, ({ parent }) => parent)
  const casesOf = (one: FunctionFacts): readonly FunctionFacts[] =>
    (children.get(one) ?? []).filter(({ isCase }) => isCase)
  // A handler that does something else for each name is as many handlers. Where none is recognized, any function may be one.
  const handlers = functions.filter(({ isHandler }) => isHandler)
  const roots = handlers.length > 0 ? [...handlers, ...handlers.flatMap(casesOf)] : functions
  const reached = new Map<FunctionFacts, Set<number>>()
  let steps = 0
  for (const [index, root] of roots.slice(0, MAX_ROOTS).entries()) {
    const open = [root]
    for (let one = open.pop(); one !== undefined && steps < MAX_STEPS; one = open.pop()) {
      const from = reached.get(one) ?? new Set()
      if (from.has(index)) continue
      steps++
      reached.set(one, from.add(index))
      open.push(...(children.get(one) ?? []).filter(({ isCase }) => !isCase || !one.isHandler))
      for (const name of one.calls) if (!PREPARING.test(name)) open.push(...(byName.get(name) ?? []))
    }
  }
  return reached
}

function keptAs(place: CodePlace, calls: Reach): KeptPlace | undefined {
  const { home, owner, setBy, filledBy } = place
  // A variable of a function is over with the call.
  if (owner === undefined && home.parent !== undefined) return undefined
  const isCalled = (by: FunctionFacts): boolean =>
    calls.has(by) && by !== home && !(owner !== undefined && by.names.includes('constructor'))
  const fillers = [...filledBy].filter(isCalled)
  const writers = [...fillers, ...[...setBy].filter(isCalled)]
  const readers = rootsOf(place.readBy, calls)
  if (writers.length === 0 || readers.length === 0) return undefined
  const written = new Set(rootsOf(writers, calls))
  return {
    place,
    isFilled: fillers.length > 0,
    isCrossed: readers.some((root) => !written.has(root)),
    isSaved: writers.some((by) => [...by.calls].some((name) => SAVING.test(name))),
  }
}

function rootsOf(functions: Iterable<FunctionFacts>, calls: Reach): readonly number[] {
  return [...functions].flatMap((one) => [...(calls.get(one) ?? [])])
}
