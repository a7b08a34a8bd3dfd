/** Prints how many requests to instances that are stopped had no answer. */
import { availableParallelism } from 'node:os'
import { stopUnderLoad } from './drain.ts'
import { type ClientKind, clients } from './requests.ts'

/** Whether every request was answered whose client had a connection. */
export async function reportDrain(requests: number): Promise<boolean> {
  console.log('\ninstances: stopped (SIGTERM) while requests come, on a busy machine')
  console.log('  connections        stops answered  refused    reset')
  let isGood = true
  for (const client of Object.keys(clients) as ClientKind[]) {
    const plan = { client, requests, stops: Math.ceil(requests / 400), atOnce: 20 }
    const { stops, answered, refused, reset, examples } = await stopUnderLoad({
      ...plan,
      busyProcesses: availableParallelism(),
    })
    const counts = [stops, answered, refused, reset].map((count) => String(count).padStart(9))
    console.log(`  ${client.padEnd(15)}${counts.join('')}`)
    for (const example of examples) console.log(`      ${example}`)
    isGood &&= reset === 0
  }
  return isGood
}
