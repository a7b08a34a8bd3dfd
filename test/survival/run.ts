/**
 * `npm run survive`: 1,000 calls of each kind by the official session-era clients over three instances behind a plain
 * balancer, then the same while instances are restarted, and while they are killed. `-- --calls 50` makes fewer.
 * `-- --trouble drain` is the last part alone: 20,000 requests of each kind of connection while instances are stopped.
 */
import { parseArgs } from 'node:util'
import { reportDrain } from './drainReport.ts'
import { survive, type Trouble, troubles } from './survive.ts'
import { isSound, type ToolName, tools } from './verdict.ts'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000' },
    trouble: { type: 'string' },
    requests: { type: 'string', default: '20000' },
    instances: { type: 'string', default: '3' },
    tool: { type: 'string', multiple: true },
  },
})
const chosen = (Object.keys(troubles) as Trouble[]).filter(
  (name) => values.trouble === undefined || values.trouble === name,
)
const plan = {
  calls: Number(values.calls),
  atOnce: 10,
  hungAfterMs: 20_000,
  instances: Number(values.instances),
  // So that instances live longer than a client waits for an answer to what became of its call.
  everyMs: 2000,
  tools: (Object.keys(tools) as ToolName[]).filter((name) => values.tool?.includes(name) ?? true),
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
if (values.trouble === undefined || values.trouble === 'drain')
  isGood = (await reportDrain(Number(values.requests))) && isGood
console.log(
  isGood ? '\nNo call hung, none happened twice, and none failed but those whose instance was killed.' : '\nNot sound.',
)
process.exitCode = isGood ? 0 : 1
