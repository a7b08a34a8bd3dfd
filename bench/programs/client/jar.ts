/** Reads a jar or writes to it in a loop, and checks every result. */
import { type Limit, type Outcome, Tally } from '../../load/load.ts'
import { echoText } from '../../load/messages.ts'
import { serveRequests } from '../ipc.ts'
import { openStore, type Store, STORES } from './jarStores.ts'

/** The names under which a server keeps short texts. */
const NAMES = ['cart', 'session', 'language', 'region', 'cursor']
const POOL = 1024
const values = Array.from({ length: POOL }, (_, id) => echoText(id))

const [storeName, path = ''] = process.argv.slice(2)
/** Each of several processes on one file writes its own name. */
const name = `of process ${process.pid}`
let written = 0

function open(): Store {
  const known = STORES.find((one) => one === storeName)
  if (known === undefined) throw new Error(`No such store: ${storeName}`)
  return openStore(known, path)
}

const store = open()
for (const [index, one] of NAMES.entries()) await store.write(one, values[index] ?? '')

async function readLoop(limit: Limit): Promise<Outcome> {
  const tally = new Tally(limit)
  while (tally.running) {
    const kept = await store.read()
    if (kept['cursor'] === values[4]) tally.countRight()
    else tally.countWrong('The value that was read is not the value that was written.')
  }
  return tally.outcome()
}

async function writeLoop(limit: Limit): Promise<Outcome> {
  const tally = new Tally(limit)
  let value = ''
  while (tally.running) {
    value = values[++written % POOL] ?? ''
    await store.write(name, value)
    tally.countRight()
  }
  const outcome = tally.outcome()
  const { [name]: kept } = await store.read()
  return kept === value ? outcome : { ...outcome, wrong: 1, firstWrong: 'The last write of a process is missing.' }
}

serveRequests({ read: readLoop, write: writeLoop })
