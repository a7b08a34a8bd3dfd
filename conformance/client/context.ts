/** What the suite tells the client under test, in the environment. */
export interface Context {
  readonly toolCalls: readonly { name: string; arguments: Record<string, unknown> }[]
  readonly values: Readonly<Record<string, unknown>>
}

export function readContext(text: string | undefined): Context {
  const values = text === undefined ? {} : (JSON.parse(text) as Record<string, unknown>)
  const { toolCalls } = values
  return { toolCalls: Array.isArray(toolCalls) ? (toolCalls as Context['toolCalls']) : [], values }
}

/** The texts with these names, all of which the scenario must have given. */
export function texts<Name extends string>({ values }: Context, ...names: readonly Name[]): Record<Name, string> {
  const missing = names.filter((name) => typeof values[name] !== 'string')
  if (missing.length > 0) throw new Error(`The suite's context lacks ${missing.join(', ')}.`)
  return Object.fromEntries(names.map((name) => [name, values[name]])) as Record<Name, string>
}
