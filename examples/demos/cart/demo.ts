/** `npm run demo -- cart`: SEP-1655, a server keeps a cart with its client. */
import { connect } from 'pannier/client'
import { type Jar, memoryJar } from 'pannier/state'
import sep from '../../documents/sep1655.json' with { type: 'json' }
import { startInstances } from '../../work-items/fleet.ts'
import { headline, note, say } from '../../work-items/show.ts'
import { oneLine } from '../formatJson.ts'
import { Transcript } from '../transcript.ts'
import { type Exchange, type Part, recording } from './recording.ts'

const SESSION = 'modelcontextprotocol.io/state/session'
const SERVER = 'modelcontextprotocol.io/state/server'
const SITE = 'https://www.example.com/mcp'

const ALONE = 'The document prints the capability alone.'
const REASONS = {
  id: 'Ids count up. The document has 1 in all its messages.',
  jsonrpc: ALONE,
  method: ALONE,
  'params.protocolVersion': ALONE,
  'params.clientInfo': ALONE,
  'params.capabilities.experimental': 'The client declares what else it can do.',
  'params.capabilities.extensions': 'The client declares what else it can do.',
  'result.tools': 'The document leaves the tools out.',
  'result.resultType': 'SEP-2322 came later, and gives every result a type.',
  'params.cursor': 'The list of this server has one page, so that there is no cursor.',
  [`params._meta["${SESSION}"]["Coupon Code"]`]: 'State is additive: the coupon was set too, so it is sent too.',
}

export async function cartDemo(): Promise<void> {
  headline('SEP-1655: a server keeps something with its client, as a site keeps cookies with a browser')
  const [shop] = await startInstances(['A'], new URL('server.ts', import.meta.url))
  note('All requests, to whatever host, go to one process on this machine; nothing leaves it.')
  const jar = memoryJar()
  await showMessages(shop.url, jar)
  await showHosts(shop.url, jar)
  say()
  say(
    'Shown: results set, add, overwrite and delete state, which goes back to the host that set it. The state of a session',
  )
  say('ends with it; that of the server stays.')
  say('Read next: examples/demos/cart/server.ts (the shop), docs/how-to/client-state.md, docs/how-to/keeping-state.md.')
}

async function showMessages(url: string, jar: Jar): Promise<void> {
  const { exchanges, fetch } = recording(url)
  // The document is of the session era. A stateless client declares the same in each request.
  const client = await connect(SITE, {
    jar,
    context: 'chat',
    fetch,
    client: { versionNegotiation: { mode: 'legacy' } },
  })
  await client.listTools()
  await client.listTools({}, { cacheMode: 'refresh' })
  const [opening, setting, sending] = exchanges as [Exchange, Exchange, Exchange]

  say()
  headline('The capability, setting and sending, as the document prints them')
  const transcript = new Transcript(REASONS)
  transcript.request(opening.request, { params: { capabilities: sep.capabilities } })
  transcript.answer(setting.answer, sep.setting)
  transcript.request(sending.request, sep.sending)
  transcript.end()

  say()
  headline('Adding, overwriting and deleting')
  for (const name of ['gift', 'add', 'empty', 'gift']) {
    await client.callTool({ name, arguments: {} })
    const { request, answer } = exchanges.at(-1)!
    say(`  ${name.padEnd(6)} client sends  ${oneLine(stateOf(request.params))}`)
    say(`         server sets   ${oneLine(stateOf(answer.result))}`)
  }
  await client.close()
}

/** What each host is sent by a client that has the jar of before, in a session of its own. */
async function showHosts(url: string, jar: Jar): Promise<void> {
  say()
  headline('The next session, another server, and localhost: what a client with the same jar sends to each')
  say(`  ${'host'.padEnd(18)} ${'first request'.padEnd(20)} after the server has set a gift and a customer`)
  for (const host of ['www.example.com', 'other.example.com', 'localhost']) {
    const { exchanges, fetch } = recording(url)
    const client = await connect(`https://${host}/mcp`, { jar, fetch })
    await client.callTool({ name: 'gift', arguments: {} })
    await client.callTool({ name: 'gift', arguments: {} })
    const [first = '', second = ''] = exchanges.slice(-2).map(({ request }) => namesIn(request.params))
    say(`  ${host.padEnd(18)} ${first.padEnd(20)} ${second}`)
    await client.close()
  }
}

function namesIn(part: Part | undefined): string {
  const names = [SESSION, SERVER].flatMap((key) => Object.keys(part?._meta?.[key] ?? {}))
  return names.length === 0 ? 'nothing' : names.join(', ')
}

function stateOf(part: Part | undefined): object {
  return part?._meta?.[SESSION] ?? {}
}
