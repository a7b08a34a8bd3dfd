/** Clients that keep their connections and clients that open one for each request, and what becomes of a request. */
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { headersOf, type RequestMessage, withEnvelope } from '../../examples/work-items/wire.ts'

export type End =
  | { readonly kind: 'answered' }
  /** Nothing listened there, so the request was not sent. */
  | { readonly kind: 'refused' }
  /** Something listened there, and gave no answer. */
  | { readonly kind: 'reset'; readonly why: string }

/** Sends a request that takes the server so many milliseconds. */
export type Send = (url: string, ms: number) => Promise<End>

export const clients = {
  fresh: () => sender(new Agent({ keepAlive: false })),
  kept: () => sender(new Agent({ keepAlive: true })),
  fetch: () => sendByFetch,
} as const satisfies Record<string, () => Send>

export type ClientKind = keyof typeof clients

const method = 'tools/call'
const headers = headersOf({ method, params: { name: 'wait' } })

function bodyOf(ms: number): string {
  const message: RequestMessage = { jsonrpc: '2.0', id: 1, method, params: { name: 'wait', arguments: { ms } } }
  return JSON.stringify(withEnvelope(message))
}

function sender(agent: Agent): Send {
  return (url, ms) =>
    new Promise((resolve) => {
      const fail = (error: Error): void => resolve(endOfError(error))
      const sent = request(url, { agent, method: 'POST', headers }, (response) => {
        text(response).then((body) => resolve(endOfAnswer(response.statusCode, body)), fail)
      })
      sent.on('error', fail)
      sent.end(bodyOf(ms))
    })
}

async function sendByFetch(url: string, ms: number): Promise<End> {
  try {
    const response = await fetch(url, { method: 'POST', headers, body: bodyOf(ms) })
    return endOfAnswer(response.status, await response.text())
  } catch (error) {
    const { cause = error } = error as Error
    return endOfError(cause as Error)
  }
}

function endOfAnswer(status: number | undefined, body: string): End {
  return status === 200 && body.includes('answered')
    ? { kind: 'answered' }
    : { kind: 'reset', why: `${status} ${body}` }
}

function endOfError({ code, message }: NodeJS.ErrnoException): End {
  return code === 'ECONNREFUSED' ? { kind: 'refused' } : { kind: 'reset', why: message }
}
