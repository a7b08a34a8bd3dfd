import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { calls } from './cases/server/calls.ts'
import { withChild } from './cases/case.ts'
import { elicitation } from './cases/server/elicitation.ts'
import { fetch } from './cases/server/fetch.ts'
import type { Entrant, comparisonCase } from './cases/comparison.ts'
import { stdio } from './cases/server/stdio.ts'
import { tools } from './cases/server/tools.ts'
import type { CaseName } from './options.ts'
import { type CpuProfile, hottest, shares } from './measure/hotSpots.ts'
import { writeRole } from './programs/role.ts'
import { sourceOf } from './processes/build.ts'
import { startChild } from './processes/child.ts'

const PROFILED: Partial<Record<CaseName, ReturnType<typeof comparisonCase>>> = {
  calls,
  elicitation,
  fetch,
  stdio,
  tools,
}
const WARM_UP_MS = 4_000
const PROFILE_MS = 4_000
const root = fileURLToPath(new URL('..', import.meta.url))

/** Profiles Pannier's servers after a warm-up, run from source, so that hot spots have files and lines of `src`. */
export async function profilePannier(only: readonly CaseName[], pinned: boolean): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-profile-'))
  for (const name of only) {
    const entrants = PROFILED[name]?.entrants.filter(({ program }) => program === 'pannier') ?? []
    for (const [index, entrant] of entrants.entries()) {
      const file = join(folder, `${name}-${index + 1}.cpuprofile`)
      await record(entrant, file, pinned)
      print(`${name}, ${entrant.name}`, file, JSON.parse(readFileSync(file, 'utf8')))
    }
  }
}

async function record({ program, role, load }: Entrant, file: string, pinned: boolean): Promise<void> {
  const argv = writeRole({ tool: 'echo', registered: 1, ...role })
  const nodeFlags = ['--conditions=pannier-source']
  const launch = { file: sourceOf(program), argv, nodeFlags, pinned, pipes: role.transport === 'stdio' }
  await withChild(startChild(launch), async (child) => {
    const session = await load(child)
    await session.run({ ms: WARM_UP_MS })
    await child.ask('startProfile')
    await session.run({ ms: PROFILE_MS })
    await child.ask('stopProfile', file)
    session.close()
  })
}

function print(name: string, file: string, profile: CpuProfile): void {
  console.log(`\n${name}: CPU time of Pannier (self time; the whole profile is in ${file})`)
  for (const { label, share } of shares(profile, root)) console.log(`  ${percent(share)}  ${label}`)
  console.log('  The ten hottest functions of src/, self time and total time:')
  for (const spot of hottest(profile, root, 10)) {
    console.log(`  ${percent(spot.self)} ${percent(spot.total)}  ${spot.name}  ${spot.place}`)
  }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1).padStart(5)} %`
}
