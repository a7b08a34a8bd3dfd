/**
 * Writes numbers to a jar, one after the other, and reports each once it is kept: `jarWriter PATH NAME PAUSE`. It begins
 * after the highest number that it finds, and reports that first. A write sets two names in two scopes, which must agree.
 */
import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { sqliteJar } from 'pannier/state'

const [path = '', principal = '', pauseMs = '0'] = process.argv.slice(2)
const owner = { server: 'shop.example.com', principal, context: 'chat' }
const jar = sqliteJar({ path })
const STDOUT = 1

const { session, server } = await jar.read(owner)
let count = Number(session['count'] ?? 0)
if (server['count'] !== session['count']) throw new Error('One write was kept by half.')
report(`found ${count}`)

for (;;) {
  count++
  const news = await jar.write(owner, { session: { count, [`turn ${count % 10}`]: count }, server: { count } })
  if (news.length > 0) throw new Error('A write within the limits was refused.')
  report(`kept ${count}`)
  if (Number(pauseMs) > 0) await setTimeout(Number(pauseMs))
}

// Synchronous, so that a report that was made is in the pipe, whatever happens to this process.
function report(line: string): void {
  writeSync(STDOUT, `${line}\n`)
}
