/** A `fetch` that sends the requests for every host to one server, and records them with their answers. */

export type Part = { readonly _meta?: Readonly<Record<string, unknown>> } & Readonly<Record<string, unknown>>

export interface Exchange {
  readonly request: { readonly method: string; readonly params?: Part }
  readonly answer: { readonly result?: Part }
}

export function recording(server: string): { exchanges: Exchange[]; fetch: typeof fetch } {
  const exchanges: Exchange[] = []
  const record: typeof fetch = async (_, init) => {
    const response = await fetch(server, init)
    if (init?.method !== 'POST' || response.status === 202) return response
    const text = await response.text()
    const answer = text.startsWith('{') ? text : text.slice(text.lastIndexOf('data: ') + 'data: '.length)
    exchanges.push({
      request: JSON.parse(init.body as string) as Exchange['request'],
      answer: JSON.parse(answer) as Exchange['answer'],
    })
    return new Response(text, response)
  }
  return { exchanges, fetch: record }
}
