/** `goOn.ts ANSWERS`: reads a saved call from standard input, goes on with it, and prints what came of it. */
import { text } from 'node:stream/consumers'
import { goOn } from '../../../docs/snippets/suspending.ts'

const answers = JSON.parse(process.argv[2] ?? '') as Record<string, 'decline'>
console.log(JSON.stringify(await goOn(await text(process.stdin), answers)))
