/** A hostile server on standard input and output: `hostileStdio.ts SEED`. */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Asked, HostileServer } from '../hostileServer.ts'
import { Random } from '../random.ts'

const random = new Random(Number(process.argv[2]) + process.pid)
const server = new HostileServer(random.fork())
process.stdout.on('error', () => process.exit(0))

async function write(bytes: Buffer | string): Promise<void> {
  if (!process.stdout.write(bytes)) await once(process.stdout, 'drain')
}

async function answer(asked: Asked): Promise<void> {
  for (const text of server.answers(asked)) {
    const bytes = server.bytes(text)
    const at = random.chance(0.1) ? server.cutIn(bytes) : bytes.length
    await write(bytes.subarray(0, at))
    if (at < bytes.length) await sleep(5)
    await write(bytes.subarray(at))
    await write(random.chance(0.98) ? '\n' : random.pick(['\r\n', '\n\n', '', '\u2028', '\n{\n']))
  }
}

/** A line without an end, longer than any that is kept. */
async function endlessLine(): Promise<void> {
  const part = Buffer.alloc(1024 * 1024, random.pick(['x', '[', '{"a":']))
  for (let left = random.pick([1, 20, 70]); left > 0; left--) await write(part)
  await write('\n')
}

process.stderr.write(random.chance(0.1) ? `\u001b[31m${'x'.repeat(100_000)}\n` : 'Started.\n')
for await (const line of createInterface(process.stdin)) {
  if (random.chance(0.003)) process.exit(random.below(3))
  if (random.chance(0.01)) await endlessLine()
  await answer(JSON.parse(line) as Asked)
}
