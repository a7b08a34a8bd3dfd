/** Which functions of a program its calls run, which events run, and which the program runs by itself to prepare the server. */
import type { FunctionFacts } from './places.ts'
import type { FileFacts } from './writes.ts'

/** Functions that prepare the server. A method of such a name is not what a call runs. */
const PREPARING =
  /^(main|start|run|listen|serve|bootstrap|constructor|init|initialize|setup\w*|register\w*|create\w*Server|startServer)$/
const MAX_ROOTS = 500
/** A bundle of thousands of functions is followed so far. */
const MAX_STEPS = 400_000

/** For each function, the numbers of the functions that it is reached from. */
export type Reach = ReadonlyMap<FunctionFacts, ReadonlySet<number>>

interface ProgramReach {
  /** For each function, the handlers whose calls may run it. */
  readonly calls: Reach
  /** The same for what events run. */
  readonly events: Reach
  /** Functions that set up the server: their variables live as long as the process. */
  readonly lasting: ReadonlySet<FunctionFacts>
}

export function reachOf(files: readonly FileFacts[]): ProgramReach {
  const functions = files.flatMap((file) => file.functions).filter(({ parent }) => parent !== undefined)
  const byName = new Map<string, FunctionFacts[]>()
  for (const one of functions) for (const name of one.names) byName.set(name, [...(byName.get(name) ?? []), one])
  const children = Map.groupBy(functions, ({ parent }) => parent)
  const names = files.flatMap((file) => file.functions).flatMap(({ calls }) => [...calls])
  const passedAs = (mark: '*' | '/'): readonly FunctionFacts[] =>
    names.filter((name) => name.startsWith(mark)).flatMap((name) => byName.get(name.slice(1)) ?? [])
  const routes = new Set([...functions.filter(({ isRoute }) => isRoute), ...passedAs('/')])
  const handlers = new Set([
    ...functions.filter((one) => one.isHandler && !ancestry(one).some((each) => routes.has(each))),
    ...passedAs('*'),
  ])
  // Where no handler is recognized, any function may be one.
  const roots = handlers.size > 0 ? withCases(handlers, children) : functions
  const follow = (from: readonly FunctionFacts[]): Reach => {
    const reached = new Map<FunctionFacts, Set<number>>()
    let steps = 0
    for (const [index, root] of from.slice(0, MAX_ROOTS).entries()) {
      const open = [root]
      const seen = new Set<FunctionFacts>()
      while (open.length > 0 && steps < MAX_STEPS) {
        const one = open.pop()
        if (one === undefined || seen.has(one)) continue
        steps++
        seen.add(one)
        const roots = reached.get(one)
        if (roots === undefined) reached.set(one, new Set([index]))
        else roots.add(index)
        open.push(...(children.get(one) ?? []).filter(({ isCase }) => !isCase || !handlers.has(one)))
        for (const name of one.calls) if (!PREPARING.test(name)) open.push(...(byName.get(name) ?? []))
      }
    }
    return reached
  }
  const calls = follow([...roots])
  const prepared = new Set(startedBy(files, byName, children))
  for (const handler of handlers) for (const one of ancestry(handler).slice(1)) prepared.add(one)
  const lasting = new Set([...prepared].filter((one) => !calls.has(one)))
  return { calls, events: follow(functions.filter(({ isListener }) => isListener)), lasting }
}

/** The function and those around it. */
function ancestry(one: FunctionFacts): readonly FunctionFacts[] {
  const all: FunctionFacts[] = []
  for (let at: FunctionFacts | undefined = one; at !== undefined; at = at.parent) all.push(at)
  return all
}

/** The named functions, and the constructors, that the program runs by itself when it is started. */
function startedBy(
  files: readonly FileFacts[],
  byName: ReadonlyMap<string, readonly FunctionFacts[]>,
  children: ReadonlyMap<FunctionFacts | undefined, readonly FunctionFacts[]>,
): ReadonlySet<FunctionFacts> {
  const made = Map.groupBy(
    files.flatMap((file) => file.made),
    ({ by }) => by,
  )
  const isMaking = (one: FunctionFacts, name: string): boolean => one.owner?.name === name
  const constructors = byName.get('constructor') ?? []
  const started = new Set<FunctionFacts>()
  const open = files.flatMap(({ functions: [top] }) => top ?? [])
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (started.has(one)) continue
    started.add(one)
    const isLater = ({ names, isHandler, isListener, isRoute }: FunctionFacts): boolean =>
      names.size > 0 || isHandler || isListener || isRoute
    open.push(...(children.get(one) ?? []).filter((child) => !isLater(child)))
    for (const name of one.calls) open.push(...(byName.get(name) ?? []))
    for (const { name } of made.get(one) ?? []) open.push(...constructors.filter((each) => isMaking(each, name)))
  }
  return new Set([...started].filter(({ names }) => names.size > 0))
}

/** A handler that does something else for each name is as many handlers. */
function withCases(
  handlers: ReadonlySet<FunctionFacts>,
  children: ReadonlyMap<FunctionFacts | undefined, readonly FunctionFacts[]>,
): ReadonlySet<FunctionFacts> {
  const cases = [...handlers].flatMap((one) => (children.get(one) ?? []).filter(({ isCase }) => isCase))
  return new Set([...handlers, ...cases])
}
