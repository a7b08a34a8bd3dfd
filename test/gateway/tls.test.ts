/** Servers of both eras, and gateways, behind https, with a certificate that is trusted, and with one that nobody trusts. */
import { readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { testIsOver } from '../fixtures/until.ts'
import { freePort } from '../fixtures/httpHost.ts'
import { MESSAGE_TYPE } from '../../src/cluster/messenger.ts'
import { startBalancer } from '../survival/balancer.ts'
import { serversOfBothEras } from './fixtures/bothEras.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, CLIENTS, connectClient } from './fixtures/gateways.ts'

const at = (name: string): string => fileURLToPath(new URL(`./fixtures/tls/${name}`, import.meta.url))

const TRUSTED = { NODE_EXTRA_CA_CERTS: at('certificate.pem') }

/** The same server behind TLS. `onRequest` gets the headers that are sent. */
async function overTls(target: string, onRequest: (headers: IncomingHttpHeaders) => void): Promise<string> {
  const { hostname, port, pathname } = new URL(target)
  const tls = { key: readFileSync(at('key.pem')), cert: readFileSync(at('certificate.pem')) }
  const host = createServer(tls, (req, res) => {
    const { method, headers, url: path } = req
    onRequest(headers)
    const onward = request({ hostname, port, path, method, headers: { ...headers, host: `${hostname}:${port}` } })
    onward.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders()
      answer.pipe(res)
    })
    onward.on('error', () => res.destroy())
    res.on('close', () => onward.destroy())
    req.pipe(onward)
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    host.close()
    host.closeAllConnections()
  })
  return `https://localhost:${(host.address() as AddressInfo).port}${pathname}`
}

/** A gateway before servers behind https, to which it sends a token. */
async function startBefore(behind: readonly [modern: string, session: string], env: Record<string, string>) {
  const seen: (string | undefined)[] = []
  const see = ({ authorization }: IncomingHttpHeaders): void => void seen.push(authorization)
  const [modern, session] = await Promise.all(behind.map((url) => overTls(url, see)))
  const headers = { authorization: 'Bearer ${SERVER_TOKEN}' }
  const servers = {
    ours: { url: modern, headers },
    http: { url: session, headers, pannier: { state: 'stateful' } },
  }
  const options = { settings: { admin: { port: 0 } }, env: { SERVER_TOKEN: 's3cret', ...env } }
  return { gateway: await startGatewayProcess(servers, options), seen }
}

test('servers of both eras are called and ask over https, and one whose certificate is not trusted gets nothing', async () => {
  const { ours, sessions } = await serversOfBothEras(testIsOver)
  const behind = [ours.url, sessions.url] as const
  const [trusting, doubting] = await Promise.all([startBefore(behind, TRUSTED), startBefore(behind, {})])
  const { url } = trusting.gateway
  for (const kind of CLIENTS) {
    const client = await connectClient(kind, url)
    for (const server of ['ours', 'http']) {
      expect(await call(client, `${server}_add`, { a: 1, b: 2 })).toBe('3')
      expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
    }
    expect(await call(await connectClient(kind, `${url}/ours`), 'add', { a: 1, b: 2 })).toBe('3')
  }
  expect(new Set(trusting.seen)).toEqual(new Set(['Bearer s3cret']))
  const health = await fetch(`${doubting.gateway.admin}health`)
  expect(health.status).toBe(503)
  const { warnings } = (await health.json()) as { warnings: string[] }
  for (const name of ['ours', 'http'])
    expect(warnings).toContainEqual(expect.stringMatching(new RegExp(`"${name}" is not there.*certificate`)))
  expect(doubting.seen).toEqual([])
})

test('gateways that advertise https: addresses reach each other there, and only there', async () => {
  const { servers } = await serversOfBothEras(testIsOver)
  const types: unknown[] = []
  const start = async (peers: string) => {
    const port = await freePort()
    const see = (headers: IncomingHttpHeaders): void => void types.push(headers['content-type'])
    const advertised = new URL(await overTls(`http://127.0.0.1:${port}/`, see)).origin
    const env = { ...TRUSTED, PANNIER_ADVERTISE: advertised, PANNIER_PEERS: peers }
    return { gateway: await startGatewayProcess(servers, { args: ['--port', String(port)], env }), advertised }
  }
  const first = await start('')
  const second = await start(first.advertised)
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  balancer.targets = [first.gateway.url, second.gateway.url]
  for (const kind of CLIENTS) {
    const client = await connectClient(kind, balancer.url)
    for (const server of ['http', 'stdio']) {
      await call(client, `${server}_note`, { text: kind })
      for (let time = 0; time < 2; time++) expect(await call(client, `${server}_recall`)).toContain(kind)
      expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
    }
  }
  expect(types.length).toBeGreaterThan(10)
  expect(new Set(types)).toEqual(new Set([MESSAGE_TYPE]))
})
