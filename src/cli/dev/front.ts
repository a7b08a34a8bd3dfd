/** The address that stays while the program behind it is started again. Requests pass unchanged, and wait for a run that is starting. */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FrontOptions {
  readonly port: number
  /** The address of the run that serves; undefined if no run serves. */
  readonly target: () => Promise<URL | undefined>
}

export interface Front {
  readonly origin: string
  close(): void
}

const NO_RUN = 'The program does not run. The terminal of "pannier dev" says why.'

export async function openFront({ port, target }: FrontOptions): Promise<Front> {
  const agent = new Agent({ keepAlive: true })
  const server = createServer({ requestTimeout: 0 }, (req, res) => {
    void target().then((to) => (to === undefined ? refuse(res, 503, NO_RUN) : forward(req, res, to, agent)))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
      agent.destroy()
    },
  }
}

function forward(req: IncomingMessage, res: ServerResponse, { hostname, port }: URL, agent: Agent): void {
  const { method, url: path, rawHeaders } = req
  const onward = request({ hostname, port, method, path, agent, headers: endToEnd(rawHeaders) }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, endToEnd(answer.rawHeaders))
    res.flushHeaders() // an event stream may have nothing to send yet
    answer.on('error', () => res.destroy()).pipe(res)
  })
  onward.on('error', ({ message }) => refuse(res, 502, `The program gave no answer: ${message}`))
  res.on('close', () => onward.destroy())
  req.pipe(onward)
}

function refuse(res: ServerResponse, status: number, sentence: string): void {
  if (res.headersSent) return void res.destroy()
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${sentence}\n`)
}

const OF_CONNECTION = new Set(['connection', 'keep-alive'])

/** Headers without hop-by-hop headers, as alternating names and values. */
function endToEnd(raw: readonly string[]): string[] {
  return raw.filter((_, at) => !OF_CONNECTION.has((raw[at - (at % 2)] ?? '').toLowerCase()))
}
