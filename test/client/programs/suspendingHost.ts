/**
 * A host that never waits for people: `suspendingHost.ts start URL FILE` calls the shop and ends when it asks; `suspendingHost.ts resume
 * FILE ANSWERS` goes on with the answers. Prints what came of it as JSON.
 */
import { tmpdir } from 'node:os'
import { connect } from '../../../src/client/connect.ts'
import { folders } from '../../../src/client/answerers/builtin.ts'
import { targetOf } from '../../../src/client/config/savedPlace.ts'
import { resume } from '../../../src/client/suspend/resume.ts'
import { savedFile } from '../../../src/client/suspend/savedFile.ts'
import { suspend, suspendedOf } from '../../../src/client/suspend/suspend.ts'
import type { Target } from '../../../src/client/config/target.ts'

const [command, first = '', second = ''] = process.argv.slice(2)
const file = savedFile(command === 'start' ? second : first)

function open(target: Target) {
  const form = suspend({ store: file })
  return connect(target, { answerers: { form, roots: folders([tmpdir()]) } })
}

async function start(url: string): Promise<unknown> {
  const client = await open(url)
  try {
    return await client.callTool({ name: 'order', arguments: { item: 'hat' } })
  } finally {
    await client.close()
  }
}

async function goOn(): Promise<unknown> {
  const saved = await file.load()
  const result = await resume(saved, JSON.parse(second) as Record<string, 'decline'>, (call) => open(targetOf(call)))
  if (suspendedOf(result) === undefined) await file.remove()
  return result
}

try {
  const result = (await (command === 'start' ? start(first) : goOn())) as { content: { text: string }[] }
  const suspended = suspendedOf(result)
  const [said] = result.content
  console.log(
    JSON.stringify(suspended ? { waitsFor: Object.keys(suspended.saved.inputRequests) } : { said: said?.text }),
  )
} catch (error) {
  console.log(JSON.stringify({ error: String(error), code: (error as { code?: unknown }).code }))
}
