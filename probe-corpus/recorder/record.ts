// `npm run probe:record -- PACKAGE --stateful "Why."` (or `--stateless`): installs a package from npm, starts it on stdio, and adds what
// it lists to recordings.json. `--again [PACKAGE…]` records servers that are there anew. CONTRIBUTING.md has the options.
import { parseArgs } from 'node:util'
import { readRecordings, type Recording, saveRecording } from '../recordings.ts'
import { withServer } from '../serverProcess.ts'
import { listingOf } from './listing.ts'
import { installed, launchOf, programOf } from './package.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    again: { type: 'boolean', default: false },
    stateful: { type: 'string' },
    stateless: { type: 'string' },
    program: { type: 'string' },
    arg: { type: 'string', multiple: true },
    env: { type: 'string', multiple: true },
    aside: { type: 'string' },
  },
})

const failed: string[] = []
for (const wanted of wantedServers()) {
  try {
    const recording = await record(wanted)
    saveRecording(recording)
    console.log(`${recording.name} ${recording.version}: ${recording.tools.length} tools`)
  } catch (error) {
    failed.push(wanted.name)
    console.log(`${wanted.name} was not recorded: ${error instanceof Error ? error.message : String(error)}`)
  }
}
process.exitCode = failed.length === 0 ? 0 : 1

type Wanted = Pick<Recording, 'name' | 'part' | 'truth' | 'because'> & Partial<Recording>

function wantedServers(): readonly Wanted[] {
  if (values.again) return readRecordings().filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  const [text = ''] = positionals
  const because = values.stateful ?? values.stateless
  if (text === '' || because === undefined) throw new Error('Name a package, and why it is --stateful or --stateless.')
  const [, name = text, version] = /^(.+)@([^@/]+)$/.exec(text) ?? []
  const { program, arg: args, env } = values
  return [
    {
      name,
      part: values.aside === undefined ? 'fit' : 'aside',
      ...(values.aside !== undefined && { set: Number(values.aside) }),
      truth: values.stateful === undefined ? 'STATELESS' : 'STATEFUL',
      because,
      ...(version !== undefined && { version }),
      ...(program !== undefined && { program }),
      ...(args !== undefined && { args }),
      ...(env !== undefined && { env }),
    },
  ]
}

async function record(wanted: Wanted): Promise<Recording> {
  const { folder, manifest } = installed(wanted)
  const program = wanted.program ?? programOf(manifest)
  return withServer(launchOf(folder, program, wanted), async (server) => {
    if (!('program' in server)) throw new Error('It is started on stdio.')
    const listing = await listingOf(server.program)
    const { name, part, set, truth, because, args, env } = wanted
    return {
      name,
      version: manifest.version,
      part,
      ...(set !== undefined && { set }),
      truth,
      because,
      program,
      ...(args !== undefined && { args }),
      ...(env !== undefined && { env }),
      ...listing,
    }
  })
}
