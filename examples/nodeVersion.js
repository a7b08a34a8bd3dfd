// Loaded before an example (`node --import`), in JavaScript, so that a Node that cannot run TypeScript says so clearly.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `The examples need Node 22.18 or newer; this is ${process.versions.node}. npm install brings one: npm run demo`,
  )
  process.exit(1)
}
