/** What a client of the bench is, as far as the command line of its process says it. */
export interface ClientRole {
  sdk: 'v1' | 'v2'
  era: 'session' | 'stateless'
  /** The URL of the server, or the command that starts one. */
  server: string | readonly string[]
}

/** The SDK's client as it is, the same with our layers around its transport, and the ready-made one. */
export type Outfit = 'bare' | 'layers' | 'connect'

export function readClientRole([text = '']: readonly string[] = process.argv.slice(2)): ClientRole {
  return JSON.parse(text) as ClientRole
}

export function writeClientRole(role: ClientRole): string[] {
  return [JSON.stringify(role)]
}
