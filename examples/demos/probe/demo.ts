/** `npm run demo -- probe`: detecting stateless and stateful servers, by the three methods of the document. */
import type { Target } from 'pannier/client'
import { capabilityScore, type Exchanged, guessFromMetadata, probe, type Verdict } from 'pannier/probe'
import printed from '../../documents/detection.json' with { type: 'json' }
import { startInstances } from '../../work-items/fleet.ts'
import { headline, note, say } from '../../work-items/show.ts'
import { Session } from '../session.ts'
import { type Message, Transcript } from '../transcript.ts'

const PROGRAM = new URL('server.ts', import.meta.url)

export async function probeDemo(): Promise<void> {
  headline('Detecting stateless and stateful servers: the three methods of the document, and their combination')
  const [github, serena, unclear, ours, flagged] = await startInstances(
    ['github', 'serena', 'unclear', '--stateless', '--stateful'],
    PROGRAM,
    (name) => (name.startsWith('--') ? { FLAG: name } : { STYLE: name }),
  )
  await showSequentialTest('a GitHub-style server', github.url, printed.stateless)
  await showSequentialTest('a Serena-style server', serena.url, printed.stateful)
  showCapabilities()
  showMetadata()
  say()
  headline('The combination, in the order of the document: method 3 above 0.9, else method 1, else method 2')
  await showCombination({
    'a known container': { url: serena.url, container: { image: 'serena-mcp-server' } },
    'GitHub-style': github.url,
    'Serena-style': serena.url,
    neither: unclear.url,
  })
  await showDeclarations(ours.url)
  say()
  headline('A server of this library that has the flags of the document, by the combination')
  await showCombination({ '--stateless': ours.url, '--stateful': flagged.url })
  say()
  say(
    'Shown: what the document does by hand, the command `pannier probe` does, and more; a gateway does it at its start.',
  )
  say(
    'Read next: docs/how-to/probe.md, and docs/reference/probe-accuracy.md for how often it is right about real servers.',
  )
}

async function showSequentialTest(kind: string, url: string, list: object): Promise<void> {
  say()
  headline(`Method 1, sequential connection test, of ${kind}`)
  const exchanged: Exchanged[] = []
  const verdict = await probe(url, { methods: ['sequential'], onExchange: (message) => exchanged.push(message) })
  const messages = exchanged.filter(({ text }) => text !== '').map(({ text }) => JSON.parse(text) as Message)
  const [initialize, initialized, asked, answered] = messages as [Message, Message, Message, Message]
  const transcript = new Transcript({})
  transcript.request(initialize, printed.initialize)
  transcript.aside(initialized)
  transcript.request(asked, printed.list)
  transcript.answer(answered, list)
  showVerdict(kind, verdict)
}

function showCapabilities(): void {
  say()
  headline('Method 2, capability analysis: a score from 0 to 1 that the server is stateless')
  for (const [name, capabilities] of [
    ['rest-api', { logging: {}, tools: { listChanged: true } }],
    ['local-cli', { resources: { subscribe: true } }],
    ['plain', { tools: {} }],
  ] as const) {
    const { state, message } = capabilityScore({ capabilities, serverInfo: { name } })
    say(`  ${name.padEnd(10)} ${state.padEnd(10)} ${message}`)
  }
  note(
    '  ≠ the document gives rest-api 0.8: its Python takes the empty object of logging for absent. In MCP it declares logging.',
  )
}

function showMetadata(): void {
  say()
  headline('Method 3, metadata heuristics: a guess from the configuration, without a request')
  for (const config of [
    { type: 'stdio', container: 'ghcr.io/github/github-mcp-server' },
    { type: 'stdio', container: 'serena-mcp-server' },
    { type: 'http' },
    { type: 'stdio' },
    { container: 'my-typescript-server' },
    { container: 'python-local' },
    {},
  ] as const) {
    const { state, confidence, message } = guessFromMetadata(config)
    say(`  ${JSON.stringify(config).padEnd(68)} ${state.padEnd(10)} ${confidence.toFixed(2)}  ${message}`)
  }
  note(
    '  ≠ the document gives the first two STATEFUL 0.70: its Python looks at the type before the name, and finds no known',
  )
  note('  server over stdio. Here known servers come first.')
}

async function showCombination(servers: Readonly<Record<string, Target>>): Promise<void> {
  for (const [kind, url] of Object.entries(servers)) showVerdict(kind, await probe(url, { order: 'documented' }))
}

async function showDeclarations(url: string): Promise<void> {
  say()
  headline('What a server declares about itself: the document’s proposals, by a server of this library')
  const { initialized } = await Session.begin(url, {})
  const { serverInfo, capabilities } = initialized['result'] as { serverInfo: Message; capabilities: Message }
  const transcript = new Transcript({
    transport: 'This server was started for HTTP alone.',
    tools: 'This server can say that its tools have changed.',
    logging: 'This server declares what else it can do.',
  })
  transcript.answer(serverInfo, printed.serverInfo)
  transcript.answer(capabilities, printed.capabilities)
  transcript.end()
}

const METHODS: Readonly<Record<string, string>> = {
  sequential: 'method 1',
  capabilities: 'method 2',
  metadata: 'method 3',
}

function showVerdict(kind: string, { state, confidence, decidedBy, message }: Verdict): void {
  const by = METHODS[decidedBy] ?? decidedBy
  say(`  ${kind.padEnd(21)} ${state.padEnd(10)} ${Math.round(confidence * 100)} %, decided by ${by}`)
  note(`  ${message}`)
}
