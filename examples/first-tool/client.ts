/** Calls the tool of `server.ts`. Its questions are asked at the terminal. */
// #region client
import { connect, terminal } from 'pannier/client'

const url = process.argv[2] ?? 'http://127.0.0.1:3000/mcp'
const client = await connect(url, { answerers: { form: terminal() } })
try {
  console.log(await client.callTool({ name: 'delete_branch', arguments: { branch: 'old-idea' } }))
} finally {
  await client.close()
}
// #endregion client
