// `npm run probe:recorded`: starts the servers of recordings.json that were kept aside, or those that are named, and probes each on stdio as
// `pannier probe` does. The verdicts are added to recordings.json.
import { probe } from 'pannier/probe'
import { alignColumns } from '../../src/cli/output/layout.ts'
import { type LiveVerdict, readRecordings, type Recording, saveRecording } from '../recordings.ts'
import { withServer } from '../serverProcess.ts'
import { installed, launchOf } from './package.ts'

/** Long, because servers start slowly on a busy machine. */
const TIMEOUT_MS = 60_000

const names = process.argv.slice(2)
const chosen = readRecordings().filter(({ name, part }) =>
  names.length === 0 ? part === 'aside' : names.includes(name),
)
const rows: string[][] = []
for (const recording of chosen) {
  const live = await verdictOn(recording)
  saveRecording({ ...recording, live })
  const { name, truth } = recording
  rows.push([
    name,
    truth,
    live.state === truth ? live.state : `NOT ${live.state}`,
    `${live.confidence}`,
    live.decidedBy,
  ])
  console.error(rows.at(-1)?.join('  '))
}
console.log(alignColumns(rows))
console.log(`${rows.filter(([, truth, state]) => truth === state).length} of ${rows.length} right`)

function verdictOn(recording: Recording): Promise<LiveVerdict> {
  const { folder } = installed(recording)
  return withServer(launchOf(folder, recording.program, recording), async (server) => {
    if (!('program' in server)) throw new Error('It is started on stdio.')
    const { state, confidence, decidedBy, protocol } = await probe(server.program, { timeoutMs: TIMEOUT_MS })
    return { state, confidence, decidedBy, protocol: protocol.state }
  })
}
