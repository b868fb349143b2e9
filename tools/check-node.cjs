// Runs on any Node: tells a newcomer what is missing, before a syntax error would.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `Node ${process.versions.node} is too old: this needs 22.18 or newer. ` +
      'On Linux x64 and arm64 `npm ci` brings its own; elsewhere install one.',
  )
  process.exit(1)
}
