/**
 * `npm run demo`: one call, each round on another process. `npm run demo -- list` names the other demos; each plays an
 * example of one of the documents this project implements, and `npm run demo -- all` plays all of them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stopAll } from './work-items/fleet.ts'
import { headline, say } from './work-items/show.ts'

interface Demo {
  readonly document: string
  readonly shows: string
  /** `newFolder` makes a folder that is removed when the demo ends. */
  readonly run: (newFolder: () => string) => Promise<void>
}

const SEP_2322 = 'SEP-2322'
const SEP_1685 = 'SEP-1685'
const SEP_2260 = 'SEP-2260'
const SEP_1655 = 'SEP-1655'
const DETECTION = 'detection'

const DEMOS: Readonly<Record<string, Demo>> = {
  rounds: {
    document: SEP_2322,
    shows: 'work items: each round on another process, one process killed in between',
    run: async (newFolder) =>
      (await import('./work-items/rounds.ts')).roundsDemo({
        folder: newFolder(),
        asking,
        onInterrupt: () => stopped(130),
      }),
  },
  weather: {
    document: SEP_2322,
    shows: 'questions as results; a person and a model in one round; work items in two',
    run: async (newFolder) => (await import('./demos/weather/demo.ts')).weatherDemo(newFolder()),
  },
  upgrade: {
    document: SEP_2322,
    shows: 'a rolling upgrade: two versions of a tool serve one call',
    run: async () => (await import('./demos/upgrade/demo.ts')).upgradeDemo(),
  },
  shedding: {
    document: SEP_2322,
    shows: 'load shedding: a busy instance gives a call away',
    run: async () => (await import('./demos/shedding/demo.ts')).sheddingDemo(),
  },
  echo: {
    document: SEP_2322,
    shows: 'the persistent workflow: the twelve messages of a task that asks',
    run: async (newFolder) => (await import('./demos/echo/demo.ts')).echoDemo(newFolder()),
  },
  detach: {
    document: SEP_2322,
    shows: 'a call that asks first, and becomes a task then',
    run: async (newFolder) => (await import('./demos/detach/demo.ts')).detachDemo(newFolder()),
  },
  errors: {
    document: SEP_2322,
    shows: 'answers that do not fit, to a call and to a task',
    run: async (newFolder) => (await import('./demos/errors/demo.ts')).errorsDemo(newFolder()),
  },
  tasks: {
    document: SEP_2322,
    shows: 'a task that asks, its process killed, answered on another one',
    run: async (newFolder) => (await import('./demos/tasks/demo.ts')).tasksDemo(newFolder()),
  },
  state: {
    document: SEP_1685,
    shows: 'pushed questions with a state, a cut stream, the four phases of migration',
    run: async (newFolder) => (await import('./demos/state/demo.ts')).stateDemo(newFolder()),
  },
  scope: {
    document: SEP_2260,
    shows: 'a background job that may not ask, and a tool that may',
    run: async () => (await import('./demos/scope/demo.ts')).scopeDemo(),
  },
  cart: {
    document: SEP_1655,
    shows: 'a cart that the client keeps: set, add, overwrite, delete; two servers; localhost',
    run: async () => (await import('./demos/cart/demo.ts')).cartDemo(),
  },
  probe: {
    document: DETECTION,
    shows: 'three methods and their combination, on a stateless and a stateful server',
    run: async () => (await import('./demos/probe/demo.ts')).probeDemo(),
  },
  gateway: {
    document: DETECTION,
    shows: 'verdicts, warnings and health of a gateway before servers of both eras',
    run: async () => {
      const { gatewayDemo, staying } = await import('./demos/gateway/demo.ts')
      const gateway = await gatewayDemo()
      if (isStaying) await staying(gateway)
      await gateway.drain({ deadlineMs: 0 })
    },
  },
  approval: {
    document: 'approvals',
    shows: 'a rule that lets a call wait for a manager, its gateway killed, continued by another one',
    run: async (newFolder) => (await import('./demos/approval/demo.ts')).approvalDemo(newFolder()),
  },
}

const USAGE = `Usage: npm run demo [-- NAME]. Names: ${Object.keys(DEMOS).join(', ')}; all plays them in turn, list says what each shows.
npm run demo -- --ask lets you answer the questions of the first one yourself, in a terminal.
npm run demo -- gateway --stay keeps the gateway, and prints the address of its console.`

const { asking, isStaying, name } = readArguments(process.argv.slice(2))
const folders: string[] = []

process.on('exit', () => {
  stopAll()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.once(signal, () => stopped(code))
}
// A closed output, as in `npm run demo | head`, ends the demo without an error.
process.stdout.on('error', () => process.exit(0))

try {
  if (name === 'list') list()
  else if (name === 'all') await playAll()
  else await play(name)
  process.exit(0)
} catch (error) {
  // Ctrl-C reaches the instances, too, and they may end before this process hears of it.
  await new Promise((resolve) => setTimeout(resolve, 200))
  console.error(`\nThe demo stopped: ${(error as Error).message}`)
  process.exit(1)
}

/** Which demo it is, and whether the person wants to answer. Any other argument ends the demo with its usage. */
function readArguments(args: readonly string[]): { asking: boolean; isStaying: boolean; name: string } {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(USAGE)
    process.exit(0)
  }
  const named = args.filter((arg) => arg !== '--ask' && arg !== '--stay')
  const [asking, isStaying] = [args.includes('--ask'), args.includes('--stay')]
  const name = named[0] ?? 'rounds'
  const isKnown = name === 'list' || name === 'all' || Object.hasOwn(DEMOS, name)
  const fits = (name === 'rounds' || !asking) && (name === 'gateway' || !isStaying)
  if (isKnown && named.length < 2 && fits) return { asking, isStaying, name }
  const wrong = isKnown ? (named[1] ?? (asking ? '--ask' : '--stay')) : name
  const isOther = Object.hasOwn(DEMOS, wrong) || wrong === '--ask' || wrong === '--stay'
  console.error(
    isOther ? `${wrong} cannot be given with ${name}. ${USAGE}` : `The demo does not know ${wrong}. ${USAGE}`,
  )
  process.exit(2)
}

function list(): void {
  for (const [name, { document, shows }] of Object.entries(DEMOS))
    say(`npm run demo -- ${name.padEnd(9)} ${document.padEnd(10)} ${shows}`)
  say(
    '\nnpm run demo -- all plays them in turn. docs/reference/documents.md says where each document is in this project.',
  )
}

async function playAll(): Promise<void> {
  for (const name of Object.keys(DEMOS)) {
    headline(`\n━━ npm run demo -- ${name} ${'━'.repeat(60 - name.length)}\n`)
    await play(name)
    stopAll()
  }
}

function play(name: string): Promise<void> {
  return (DEMOS[name] as Demo).run(newFolder)
}

/** A folder that is removed when the demo ends. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-demo-'))
  folders.push(folder)
  return folder
}

function stopped(code: number): never {
  console.error('\nStopped.')
  process.exit(code)
}
