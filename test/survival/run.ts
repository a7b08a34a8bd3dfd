/**
 * `npm run survive`: 1,000 calls of each kind by the official session-era clients over three instances behind a plain
 * balancer, then the same while instances are restarted, and while they are killed. `-- --calls 50` makes fewer.
 * `-- --trouble drain` is the last part alone: 20,000 requests of each kind of connection while instances are stopped.
 * `-- --beside v0.1.0` runs instances, and then gateways, of that version and this one by turns while they are restarted.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../scripts/repository.ts'
import { reportDrain } from './drainReport.ts'
import { folderOfVersion } from './otherVersion.ts'
import { rollUnderLoad } from './rollingGateways.ts'
import { survive, type Trouble, troubles } from './survive.ts'
import { isSound, type ToolName, tools } from './verdict.ts'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000' },
    trouble: { type: 'string' },
    requests: { type: 'string', default: '20000' },
    instances: { type: 'string', default: '3' },
    tool: { type: 'string', multiple: true },
    beside: { type: 'string' },
  },
})
const other = values.beside === undefined ? undefined : folderOfVersion(values.beside)
const wanted = values.trouble ?? (other === undefined ? undefined : 'restarts')
const chosen = (Object.keys(troubles) as Trouble[]).filter((name) => wanted === undefined || wanted === name)
const plan = {
  calls: Number(values.calls),
  atOnce: 10,
  hungAfterMs: 20_000,
  instances: Number(values.instances),
  // So that instances live longer than a client waits for an answer to what became of its call.
  everyMs: 2000,
  tools: (Object.keys(tools) as ToolName[]).filter((name) => values.tool?.includes(name) ?? true),
  programs: versionsOf('test/survival/programs/instance.ts'),
}

/** A program of the other version, if there is one, and of this one. */
function versionsOf(path: string): string[] {
  return [other, root].flatMap((folder) => (folder === undefined ? [] : [join(folder, path)]))
}

/** Gateways of both versions behind one balancer, which are restarted in turn. */
async function reportGateways(): Promise<boolean> {
  const ends: (() => unknown)[] = []
  const until = (end: () => unknown): void => void ends.unshift(end)
  const fleet = { gateways: 3, balancer: 'plain', stops: 12, atOnce: 1 } as const
  const { calls, failed, doubled, gone, reasons } = await rollUnderLoad({
    ...fleet,
    programs: versionsOf('src/cli/main.ts'),
    until,
  })
  for (const end of ends) await end()
  console.log(`\ngateways: ${fleet.stops} restarts, ${calls} calls, ${failed} failed, ${doubled} doubled, ${gone} gone`)
  for (const [why, count] of reasons) console.log(`  ${count} times ${why}`)
  return failed + doubled + gone === 0
}

function stopTimes(stopMs: readonly number[]): string {
  const sorted = stopMs.toSorted((a, b) => a - b).map(Math.round)
  return `an instance stopped within ${sorted[Math.floor(sorted.length / 2)]} ms (median), ${sorted.at(-1)} ms (longest)`
}

let isGood = true
for (const trouble of chosen) {
  console.log(`\ninstances: ${trouble === 'none' ? 'left alone' : trouble}`)
  console.log('  tool        client   calls    good    lost    hung doubled   wrong')
  const { times, stopMs } = await survive({
    ...plan,
    trouble,
    onOutcome: (outcome) => {
      const { tool, client, calls, good, lost, hung, doubled, wrong, examples } = outcome
      const counts = [calls, good, lost, hung, doubled, wrong].map((count) => String(count).padStart(8))
      console.log(`  ${tool.padEnd(12)}${client.padEnd(5)}${counts.join('')}`)
      for (const example of examples) console.log(`      ${example}`)
      isGood &&= isSound(outcome)
    },
  })
  if (times > 0) console.log(`  ${times} ${trouble}${stopMs.length > 0 ? `; ${stopTimes(stopMs)}` : ''}`)
}
if (other !== undefined) isGood = (await reportGateways()) && isGood
if (wanted === undefined || wanted === 'drain') isGood = (await reportDrain(Number(values.requests))) && isGood
console.log(
  isGood ? '\nNo call hung, none happened twice, and none failed but those whose instance was killed.' : '\nNot sound.',
)
process.exitCode = isGood ? 0 : 1
