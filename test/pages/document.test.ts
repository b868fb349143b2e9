/** A document names its style sheet and its script by hash, and allows nothing else. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { DESIGN, documentsOf } from '../../src/http/document.ts'
import { html } from '../../src/http/html.ts'

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

describe('documents', () => {
  it('allow the one script and the one style sheet', () => {
    const { headers, documentOf } = documentsOf({ style: 'p > b {}', script: 'a < b && c' })
    const text = documentOf('<title>', html`<p>${'<body>'}</p>`)
    expect(text)
      .to.include('<style>p > b {}</style>')
      .and.to.include('<script type="module">a < b && c</script>')
    expect(text).to.include('<title>&lt;title&gt;</title>').and.to.include('<p>&lt;body&gt;</p>')
    expect(headers['Content-Security-Policy']?.split('; ')).to.have.members([
      "default-src 'none'",
      `script-src ${hashOf('a < b && c')}`,
      `style-src ${hashOf('p > b {}')}`,
      'img-src data:',
      "connect-src 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types impersonation-console',
    ])
    expect(headers).to.include({
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'same-origin',
      'X-Frame-Options': 'DENY',
    })
  })

  it('without a script allow none, and no request', () => {
    const { headers, documentOf } = documentsOf({ style: 'p{}' })
    expect(documentOf('x', html`<p>x</p>`)).not.to.include('<script')
    expect(headers['Content-Security-Policy']).not.to.match(/script-src|connect-src/)
    expect(headers['Content-Security-Policy']).to.match(/trusted-types 'none'$/)
  })

  it('have the colours and measures of every page, which cannot end their element', () => {
    expect(DESIGN)
      .to.match(/--live:light-dark\(/)
      .and.not.to.include('</')
  })
})
