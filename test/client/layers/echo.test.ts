/** `state` beside the parameters, through the official clients: a call outlives the process that began it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { echo, echoFetch } from 'pannier/client'
import { afterEach, describe, expect } from 'vitest'
import { commandOf } from '../../interop/fixtures/instances.ts'
import { proves } from '../../proves.ts'
import { accept, type AnyClient, callTool } from '../fixtures/clients.ts'

const me = { name: 'echoing', version: '1' }
const item = { workItemId: 4522, fields: { 'System.State': 'Resolved' } }
const DONE = 'Bug #4522 resolved as Duplicate of Bug #4301. State set to Resolved and duplicate link created.'
const { command, args, env } = commandOf(fileURLToPath(new URL('../programs/layersServer.ts', import.meta.url)))
const reconnectionOptions = {
  initialReconnectionDelay: 10,
  maxReconnectionDelay: 50,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 50,
}

interface Process {
  readonly url: string
  kill(): Promise<void>
}
const running: Process[] = []

async function start(): Promise<Process> {
  const child = spawn(command, [...args, '--http'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
  }
  for await (const url of createInterface(child.stdout)) {
    running.push({ url, kill })
    return running.at(-1)!
  }
  throw new Error('The program ended before it said where it listens.')
}

afterEach(async () => {
  await Promise.all(running.splice(0).map(({ kill }) => kill()))
})

/** Each of the SDKs' clients, with its own handler for forms; everything goes to whichever process `at` names. */
const clients = {
  v1: async (at: () => string, place: 'top' | 'meta', answer: () => Promise<object>) => {
    const to = ((_: unknown, init: RequestInit) => fetch(at(), init)) as never
    const client = new ClientV1(me, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, async () => accept((await answer()) as never))
    const options = { fetch: place === 'top' ? echoFetch(to) : to, reconnectionOptions }
    await client.connect(echo()(new HttpV1(new URL(at()), options)))
    return client as unknown as AnyClient
  },
  v2: async (at: () => string, place: 'top' | 'meta', answer: () => Promise<object>) => {
    const to = ((_: unknown, init: RequestInit) => fetch(at(), init)) as never
    const client = new ClientV2(me, { capabilities: { elicitation: {} } })
    client.setRequestHandler('elicitation/create', (async () => accept((await answer()) as never)) as never)
    const options = { fetch: place === 'top' ? echoFetch(to) : to, reconnectionOptions }
    await client.connect(echo()(new HttpV2(new URL(at()), options)))
    return client as unknown as AnyClient
  },
}

describe.each(['top', 'meta'] as const)('with the state at %s', (place) => {
  proves(
    'ST-4 ST-21',
    'a v1 client’s call completes although its process is killed at each of two questions',
    async () => {
      await provedWith('v1', place)
    },
  )

  proves('ST-4 ST-21', 'so does a v2 client’s', async () => {
    await provedWith('v2', place)
  })
})

/** Three processes serve one call: each dies while the person thinks. */
async function provedWith(sdk: keyof typeof clients, place: 'top' | 'meta'): Promise<void> {
  const processes = await Promise.all([start(), start(), start()])
  let at = 0
  const answers = [{ resolution: 'Duplicate' }, { duplicateOfId: 4301 }]
  const client = await clients[sdk](
    () => processes[at]!.url,
    place,
    async () => {
      const answer = answers[at]!
      const dying = processes[at++]!
      await dying.kill()
      return answer
    },
  )
  const done = await callTool(client, 'update_work_item', item)
  expect(done.content).toMatchObject([{ text: DONE }])
  expect(at).toBe(2)
  await client.close()
}
