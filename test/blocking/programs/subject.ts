/**
 * The process under test: a server, and a gateway before the servers that its parent names. On request it measures the
 * longest time for which its event loop stands still.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turnEnds } from 'node:timers/promises'
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { bearer, createServer, type Logger } from 'pannier/server'
import { newKey } from 'pannier/state'
import { sqliteTasks } from 'pannier/tasks'
import type { Addresses, Topics } from '../fixtures/subject.ts'

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const keys = newKey()
const folder = mkdtempSync(join(tmpdir(), 'pannier-blocking-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const form = { message: 'Who?', schema: { type: 'object', properties: { name: { type: 'string' } } } } as const
const strict = {
  type: 'object',
  properties: {
    unique: { type: 'array', uniqueItems: true },
    list: { type: 'string', pattern: '^[a-z]+(,[a-z]+)*$' },
    when: { type: 'string', format: 'date-time' },
    mail: { type: 'string', format: 'email' },
    link: { type: 'string', format: 'uri' },
    one: { enum: Array.from({ length: 500 }, (_, index) => `${index}`.padEnd(200, 'k')) },
  },
  patternProperties: { '^\\d': { type: 'number' } },
} as const

const person = { type: 'object', properties: { who: { type: 'string' } } } as const

function createSubject() {
  const tasks = sqliteTasks({ path: join(folder, 'tasks.db') })
  const server = createServer({ name: 'subject', version: '1', keys, logger: quiet, tasks })
  server.tool('plain', { description: 'Takes anything.' }, () => 'done')
  server.tool('strict', { description: 'Takes what fits.', input: strict }, () => 'done')
  server.tool('ask', { description: 'Asks.' }, async (_, ctx) => {
    await ctx.ask('name', form)
    return 'done'
  })
  server.tool('keep', { description: 'Records its arguments, and asks.' }, async (args, ctx) => {
    await ctx.step('args', () => args)
    await ctx.ask('name', form)
    return 'done'
  })
  server.tool('once', { description: 'Claims.' }, async (args, ctx) => {
    await ctx.once('args', () => args)
    return 'done'
  })
  server.tool('job', { description: 'Is a task.', task: 'required' }, () => 'done')
  server.tool(
    'mirrored',
    {
      description: 'Has a parameter in a header.',
      input: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
    },
    () => 'done',
  )
  server.prompt('hail', { description: 'Hails.', input: person }, () => 'Hail')
  server.resource('about://me', { name: 'about' }, () => 'about')
  for (const prefix of ['a', 'b', 'c', 'd'])
    server.resourceTemplate(`${prefix}://{owner}-{name}/{+rest}`, { name: prefix }, () => 'read')
  server.completion({ prompt: 'hail', argument: 'who' }, (typed) => [typed.slice(0, 10)])
  return server
}

async function startServers(): Promise<{ server: string; guarded: string }> {
  const { url: server } = await createSubject().listen({ drainOnTerm: false })
  const principal = bearer({
    issuer: 'https://issuer.test',
    audience: 'https://subject.test/mcp',
    key: Buffer.from('0123456789abcdef0123456789abcdef'),
    algorithms: ['HS256'],
  })
  const closed = createServer({ name: 'guarded', version: '1', keys, logger: quiet, principal })
  closed.tool('plain', { description: 'Takes anything.' }, () => 'done')
  const { url: guarded } = await closed.listen({ drainOnTerm: false })
  return { server, guarded }
}

async function startGateway(mcpServers: object): Promise<string> {
  const views = { found: { catalogue: 'search' }, some: { tools: ['modern_*'] } }
  const config = await gatewayConfigOf({ mcpServers, gateway: { views, admin: false } })
  const gateway = createGateway({ ...config, keys, logger: quiet })
  const { url } = await gateway.listen({ drainOnTerm: false })
  await gateway.tried()
  return url
}

/** One with rules, a store and an audit log. */
async function startRuledGateway(mcpServers: object): Promise<string> {
  const gateway = {
    store: join(folder, 'questions.db'),
    audit: { folder: join(folder, 'audit') },
    deny: [
      { if: 'has(args.amount) && args.amount > 100' },
      // Larger arguments would be denied.
      { if: 'args.items.exists(item, item.price > 100 && item.count > 3)', dryRun: true },
      { if: 'args.names.exists(name, name.like("*drop*table*"))', dryRun: true },
    ],
    approve: [
      { if: 'tool.ownName == "tool_2"', by: 'role:manager' },
      { if: 'tool.ownName == "tool_1"', by: 'role:manager', show: ['region'] },
    ],
    admin: false,
  }
  const config = await gatewayConfigOf({ mcpServers, gateway })
  const ruled = createGateway({
    ...config,
    keys,
    logger: quiet,
    principal: ({ header }) => ({ id: header('x-user') ?? '' }),
  })
  const { url } = await ruled.listen({ drainOnTerm: false })
  await ruled.tried()
  return url
}

/**
 * Since the stopwatch was made: the wall clock, or the CPU time of the process if that is less. Other processes can make
 * only the first longer, and other threads only the second, so that the main thread needed no more than this.
 */
class Stopwatch {
  #wall = performance.now()
  #cpu = process.cpuUsage()

  lap(): number {
    const [wall, cpu] = [performance.now(), process.cpuUsage()]
    const cpuMs = (cpu.user + cpu.system - this.#cpu.user - this.#cpu.system) / 1000
    const ms = Math.min(wall - this.#wall, cpuMs)
    this.#wall = wall
    this.#cpu = cpu
    return ms
  }
}

/** The longest turn of the event loop. */
class LoopWatch {
  #longest = 0
  #isOn = false

  begin(): void {
    this.#longest = 0
    this.#isOn = true
    const stopwatch = new Stopwatch()
    const turn = (): void => {
      this.#longest = Math.max(this.#longest, stopwatch.lap())
      if (this.#isOn) setImmediate(turn)
    }
    setImmediate(turn)
  }

  end(): number {
    this.#isOn = false
    return this.#longest
  }
}

const watch = new LoopWatch()
/** 4 MB with 40,000 keys. */
const yard = JSON.stringify(
  Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`${(index * 7919) % 100_000}`.padEnd(95, 'k'), 1])),
)

const topics: Topics = {
  start: async (servers): Promise<Addresses> => {
    const { lines: _, ...overHttp } = servers as Record<string, unknown>
    const [{ server, guarded }, gateway, ruled] = await Promise.all([
      startServers(),
      startGateway(servers),
      startRuledGateway(overHttp),
    ])
    return { server, guarded, gateway, ruled }
  },
  begin: () => watch.begin(),
  end: async () => {
    await turnEnds() // with what was done in this one
    return watch.end()
  },
  settle: () => {
    globalThis.gc?.()
    const stopwatch = new Stopwatch()
    JSON.parse(yard)
    return stopwatch.lap()
  },
  heap: () => {
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  },
}

process.on('message', ({ topic, detail }: { topic: keyof Topics; detail?: unknown }) => {
  void Promise.resolve(topics[topic](detail as never)).then((answer) => process.send?.({ answer }))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ answer: undefined })
