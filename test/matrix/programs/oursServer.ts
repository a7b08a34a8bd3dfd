/**
 * A stateless server of ours with one tool for each behaviour, over HTTP or on standard input and output. Journals are in
 * STORE, the path of a file or the address of a database, as CARRY says; else with the client.
 */
import { postgres, postgresCarryStore, postgresLedger } from 'pannier/postgres'
import { createServer, structured } from 'pannier/server'
import { sqliteCarryStore, sqliteLedger } from 'pannier/state'
import { sqliteTasks } from 'pannier/tasks'
import { z } from 'zod'
import { change, changingDescription, onChange, waitForCancel, write } from '../serving/effects.ts'
import { tappedLines } from '../serving/lines.ts'
import { PAGE_SIZE, PAGED } from '../serving/pages.ts'

const isHttp = process.argv.includes('--http')
const folder = `${process.env['EFFECTS'] ?? ''}.ours`

/** What is to happen once stays so when the process is another one. */
function stores(at: string | undefined) {
  if (at?.startsWith('postgres:')) {
    const database = postgres({ url: at })
    return { ledger: postgresLedger(database), store: postgresCarryStore(database) }
  }
  const ledger = sqliteLedger({ path: `${folder}.ledger` })
  return at === undefined ? { ledger } : { ledger, store: sqliteCarryStore({ path: at }) }
}

const server = createServer({
  name: 'matrix',
  version: '1.0.0',
  pageSize: PAGE_SIZE,
  ...stores(process.env['STORE']),
  ...(process.env['CARRY'] && { carry: 'store' }),
  tasks: sqliteTasks({ path: `${folder}.tasks`, pollMs: 100 }),
})
const input = z.object({ key: z.string() })
const schema = z.object({ name: z.string() })
type Ctx = Parameters<Parameters<typeof server.tool>[2]>[1]
type Run = (ctx: Ctx, key: string) => Promise<string>

/** A handler runs anew in each round, so effects are steps. */
function offer(name: string, run: Run, more: { task?: 'required'; annotations?: { idempotentHint: true } } = {}): void {
  server.tool(name, { description: name, input, ...more }, async ({ key }, ctx) => {
    await ctx.step('began', () => write('began', key))
    const text = await run(ctx, key)
    await ctx.once('done', () => write('done', key))
    return text
  })
}

const ask = async (ctx: Ctx, message: string): Promise<string> => {
  const answer = await ctx.elicit(message, { message, schema })
  return answer.action === 'accept' ? answer.content.name : answer.action
}
const askTwice: Run = async (ctx, key) => `${await ask(ctx, `First? ${key}`)} ${await ask(ctx, `Second? ${key}`)}`

offer('plain', async () => 'plain')
offer('one', (ctx, key) => ask(ctx, `Name? ${key}`))
offer('two', askTwice)
offer('two_again', askTwice, { annotations: { idempotentHint: true } })
offer('many', async (ctx, key) =>
  (await Promise.all(['A?', 'B?', 'C?'].map((message) => ask(ctx, `${message} ${key}`)))).join(' '),
)
offer('decline', (ctx, key) => ask(ctx, `Decline? ${key}`))
offer('cancel', (ctx, key) => ask(ctx, `Cancel? ${key}`))
offer('visit', async (ctx, key) => (await ctx.visit('page', `https://example.com/${key}`, `Visit? ${key}`)).action)
offer('sample', async (ctx, key) => {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: `Think. ${key}` } }]
  const { content } = await ctx.sample('words', { messages, maxTokens: 10 })
  return 'text' in content ? String(content.text) : ''
})
offer('roots', async (ctx) => (await ctx.roots('folders')).map(({ uri }) => uri).join(' '))
offer('progress', async (ctx) => {
  for (const progress of [1, 2, 3]) ctx.progress(progress, 3)
  return 'reported'
})
offer('log', async (ctx, key) => {
  for (const turn of [1, 2, 3]) ctx.log('info', `${key} ${turn}`)
  return 'logged'
})
offer('task', askTwice, { task: 'required' })
server.tool('cancelled', { description: 'cancelled', input }, async ({ key }, ctx) => {
  await waitForCancel(key, ctx.signal)
  return 'cancelled'
})
server.tool('structured', { description: 'structured', input, output: input }, ({ key }) => structured({ key }))
server.tool('failed', { description: 'failed', input }, () => {
  throw new Error('It broke.')
})
server.tool('change', { description: 'change', input }, () => {
  change('list')
  return 'changed'
})
server.tool('touch', { description: 'touch', input }, ({ key }) => {
  change(`note://${key}`)
  return 'touched'
})
for (const uri of PAGED) server.resource(uri, { name: uri }, () => uri)
server.resourceTemplate('note://{key}', { name: 'note' }, (_, { key }) => String(key))

const offerChanging = (): void => {
  server.remove('tools', 'changing')
  server.tool('changing', { description: changingDescription(), input }, () => 'changing')
}
offerChanging()
onChange((what) => (what === 'list' ? offerChanging() : server.updated(what)))

if (isHttp) {
  const { port } = await server.listen({ port: Number(process.env['PORT'] ?? 0) })
  console.log(port)
} else await server.stdio(tappedLines())
