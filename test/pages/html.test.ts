/** HTML is made by templates alone, which escape every value; a document names its style and its script by hash. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { DESIGN, documentsOf } from '../../src/pages/document.ts'
import { Html, html, linked } from '../../src/pages/html.ts'

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

describe('html', () => {
  it('escapes text, between tags and in attributes', () => {
    const text = `<b title="x">&'</b>`
    expect(String(html`<p title="${text}">${text}</p>`)).to.equal(
      '<p title="&lt;b title=&quot;x&quot;&gt;&amp;&#39;&lt;/b&gt;">&lt;b title=&quot;x&quot;&gt;&amp;&#39;&lt;/b&gt;</p>',
    )
  })

  it('escapes once, what is nested and what is in a list, too', () => {
    const items = ['<', html`<i>${'&'}</i>`, ['>', 7]]
    expect(String(html`<p>${items}</p>`)).to.equal('<p>&lt;<i>&amp;</i>&gt;7</p>')
  })

  it('leaves out what is not there', () => {
    expect(String(html`<p>${undefined}${false}${[]}${''}${0}</p>`)).to.equal('<p>0</p>')
  })

  it('takes an object that looks like HTML for text', () => {
    const forged = { toString: () => '<img>' } as unknown as Html
    expect(String(html`${forged}`)).to.equal('&lt;img&gt;')
    expect(forged).not.to.be.instanceOf(Html)
  })

  it('makes a link of an http or https address alone', () => {
    const others = [
      'javascript:alert(1)',
      ' javascript:alert(1)',
      'java\nscript:x',
      'data:text/html,x',
      '/relative',
    ]
    for (const url of [...others, '//evil.example', 'https://', '', undefined, 7, {}])
      expect(String(html`${linked(url, '<')}`), String(url)).to.equal('&lt;')
    expect(String(linked('https://a.example/?"&', '<'))).to.equal(
      '<a href="https://a.example/?&quot;&amp;">&lt;</a>',
    )
    expect(String(linked('HTTP://a.example', 'a'))).to.equal('<a href="HTTP://a.example">a</a>')
  })

  it('is a document with its one script and its one style sheet, which cannot end their element', () => {
    const { headers, documentOf } = documentsOf({ style: 'p > b {}', script: 'a < b && c' })
    const text = documentOf('<title>', html`<p>${'<body>'}</p>`)
    expect(text)
      .to.include('<style>p > b {}</style>')
      .and.to.include('<script type="module">a < b && c</script>')
    expect(text).to.include('<title>&lt;title&gt;</title>').and.to.include('<p>&lt;body&gt;</p>')
    expect(headers['Content-Security-Policy']?.split('; ')).to.have.members([
      ...["default-src 'none'", 'img-src data:', "connect-src 'self'", "form-action 'self'"],
      ...[`script-src ${hashOf('a < b && c')}`, `style-src ${hashOf('p > b {}')}`],
      ...["frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"],
      'trusted-types impersonation-console',
    ])
    expect(headers).to.include({
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'same-origin',
      'X-Frame-Options': 'DENY',
    })
    expect(DESIGN)
      .to.match(/--live:light-dark\(/)
      .and.not.to.include('</')
  })

  it('is a document that allows no script and no request where it has none', () => {
    const { headers, documentOf } = documentsOf({ style: 'p{}' })
    expect(documentOf('x', html`<p>x</p>`)).not.to.include('<script')
    expect(headers['Content-Security-Policy']).not.to.match(/script-src|connect-src/)
    expect(headers['Content-Security-Policy']).to.match(/trusted-types 'none'$/)
  })
})
