/** What a transport offers besides messages is there through all layers, and the SDK's own negotiation uses it. */
import { Client as ClientV2, SdkError, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { memoryJar } from 'pannier/state'
import { compose, echo, echoFetch, jar, type Layer, rounds, scope, scopeFetch } from 'pannier/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandOf, type Instance } from '../../interop/fixtures/instances.ts'
import { type AnyClient, callTool, startLayersServer, text } from '../fixtures/clients.ts'

const me = { name: 'layers-test', version: '1' }
const v1 = () => new ClientV1(me)
const v2 = (mode: 'legacy' | 'auto' = 'legacy') => new ClientV2(me, { versionNegotiation: { mode } })
const old = {
  ...commandOf(fileURLToPath(new URL('../programs/exitsOnProbe.ts', import.meta.url))),
  stderr: 'pipe' as const,
}
const layers = (): Layer =>
  compose(
    rounds({ answerers: { form: () => ({ action: 'decline' }) } }),
    scope(),
    jar(memoryJar(), { server: 'x.example', principal: 'ann', context: 'c' }),
    echo(),
  )

let instance: Instance

beforeAll(async () => {
  instance = await startLayersServer()
})
afterAll(() => instance.close())

describe.each([
  ['v1', v1, StdioV1],
  ['v2', v2, StdioV2],
] as const)('the stdio transport of %s', (_, makeClient, Stdio) => {
  test('has its process, its stderr and its class', async () => {
    const transport = layers()(new Stdio(old))
    let said = ''
    ;(transport.stderr as Readable).on('data', (chunk) => (said += chunk))
    expect(transport).toBeInstanceOf(Stdio)
    expect(transport.pid).toBeNull()
    const client = makeClient()
    await client.connect(transport)
    expect(transport.pid).toEqual(expect.any(Number))
    await expect.poll(() => said).toContain('"dev.pannier/state-echo":{"at":["top"]}')
    await client.close()
    expect(transport.pid).toBeNull()
  })

  test('reports a program that does not exist', async () => {
    const client = makeClient()
    await expect(client.connect(layers()(new Stdio({ command: '/no/such/program' })) as never)).rejects.toThrow(
      'ENOENT',
    )
  })
})

describe.each([
  ['v1', v1, HttpV1],
  ['v2', v2, HttpV2],
] as const)('the HTTP transport of %s', (_, makeClient, Http) => {
  test('has its session, its version and its class, and ends its session', async () => {
    const transport = layers()(new Http(new URL(instance.url), { fetch: scopeFetch(echoFetch()) }))
    const client = makeClient()
    await client.connect(transport)
    expect(transport).toBeInstanceOf(Http)
    expect(transport.sessionId).toEqual(expect.any(String))
    expect(transport.protocolVersion).toBe('2025-11-25')
    await transport.terminateSession()
    expect(transport.sessionId).toBeUndefined()
    await client.close()
  })

  test('comes back to a stream that was let go', async () => {
    const client = makeClient() as unknown as AnyClient & { connect(transport: unknown): Promise<void> }
    await client.connect(layers()(new Http(new URL(instance.url), { fetch: scopeFetch(echoFetch()) })))
    const tokens: string[] = []
    const onresumptiontoken = (token: string) => void tokens.push(token)
    const broken = callTool(client, 'break_off', {}, { onresumptiontoken })
    await expect.poll(() => tokens.length).toBeGreaterThan(0)
    await callTool(client, 'heard')
    expect(await broken).toMatchObject(text('after the break'))
    await client.close()
  })
})

describe('the negotiation of the v2 client', () => {
  test('probes a child process of its own, so a server that ends on a probe is served in a session', async () => {
    const client = v2('auto')
    await client.connect(layers()(new StdioV2(old)))
    expect(client.getProtocolEra()).toBe('legacy')
    expect(await client.callTool({ name: 'x' })).toMatchObject(text('called'))
    await client.close()
  })

  test('is aborted when the transport is closed meanwhile', async () => {
    const client = v2('auto')
    const transport = layers()(new StdioV2(old))
    const connecting = client.connect(transport)
    await transport.close()
    await expect(connecting).rejects.toBeInstanceOf(SdkError)
  })

  test('works again and again with one client and new transports', async () => {
    const client = v2('auto')
    for (let time = 0; time < 3; time++) {
      await client.connect(layers()(new HttpV2(new URL(instance.url))))
      expect(client.getProtocolEra()).toBe('modern')
      expect(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })).toMatchObject(text('hi'))
      await client.close()
    }
  })

  test('is told of a server that is not there', async () => {
    await expect(v2('auto').connect(layers()(new HttpV2(new URL('http://127.0.0.1:1/'))))).rejects.toThrow()
  })
})
